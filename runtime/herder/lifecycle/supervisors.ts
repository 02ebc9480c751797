/** The supervisors of all connectors, by name; what the worker tells of its tasks goes to theirs. */
import type { WorkerListener } from '../../worker/worker.ts';
import type { ConnectorSupervisor } from './connectorSupervisor.ts';

export class Supervisors {
  readonly #supervisors = new Map<string, ConnectorSupervisor>();
  readonly listener: WorkerListener;

  constructor(tracksTopics: boolean) {
    const of = (name: string): ConnectorSupervisor | undefined => this.#supervisors.get(name);
    this.listener = {
      connectorState: (name, state, failure) => of(name)?.connectorState(state, failure),
      taskState: (id, state, failure) => of(id.connector)?.taskState(id.task, state, failure),
      topicUsed: (id, topic) => {
        if (tracksTopics) of(id.connector)?.topicUsed(id.task, topic);
      },
      reconfigure: name => of(name)?.reconfigure(),
    };
  }

  get(name: string, make: () => ConnectorSupervisor): ConnectorSupervisor {
    let supervisor = this.#supervisors.get(name);
    if (supervisor === undefined) this.#supervisors.set(name, (supervisor = make()));
    return supervisor;
  }

  names(): readonly string[] {
    return [...this.#supervisors.keys()];
  }

  async close(): Promise<void> {
    await Promise.all([...this.#supervisors.values()].map(supervisor => supervisor.close()));
  }
}
