/** Notes the states of connectors and tasks of this worker, and the topics they use, in the status topic. */
import type { ConnectorStatus, TaskStatus } from '../herder.ts';
import {
  connectorStatusRecord,
  type State,
  type Status,
  taskStatusRecord,
  topicRecord,
  topicTombstone,
} from '../stores/statusState.ts';
import type { StatusStore } from '../stores/statusStore.ts';

export class StatusBoard {
  readonly #store: StatusStore;
  readonly #workerId: string;
  /** Version of a connector's plugin, where it is known. */
  readonly #version: (connector: string) => string | null;

  constructor(store: StatusStore, workerId: string, version: (connector: string) => string | null) {
    this.#store = store;
    this.#workerId = workerId;
    this.#version = version;
  }

  connector(name: string, state: State, trace: string | null): void {
    this.#store.put(connectorStatusRecord(name, this.#status(name, state, trace), 0));
  }

  task(name: string, task: number, state: State, trace: string | null): void {
    this.#store.put(taskStatusRecord(name, task, this.#status(name, state, trace), 0));
  }

  /** The states that are kept, by task. */
  tasks(name: string): readonly (readonly [number, Status])[] {
    return this.#store.state.tasks(name);
  }

  connectorStatus(name: string): ConnectorStatus | null {
    const status = this.#store.state.connector(name);
    return status === null ? null : shown(status);
  }

  taskStatus(name: string, task: number): TaskStatus | null {
    const status = this.#store.state.task(name, task);
    return status === null ? null : { id: task, ...shown(status) };
  }

  taskStatuses(name: string): TaskStatus[] {
    return this.#store.state.tasks(name).map(([id, status]) => ({ id, ...shown(status) }));
  }

  topics(name: string): string[] {
    return this.#store.state.topics(name);
  }

  topicUsed(name: string, task: number, topic: string): void {
    if (!this.#store.state.topics(name).includes(topic)) this.#store.put(topicRecord(topic, name, task));
  }

  forgetTopics(name: string): void {
    for (const topic of this.#store.state.topics(name)) this.#store.put(topicTombstone(topic, name));
  }

  forgetTask(name: string, task: number): void {
    this.#store.put(taskStatusRecord(name, task, null, 0));
  }

  /** The connector stands, without tasks. */
  stopped(name: string): void {
    this.connector(name, 'STOPPED', null);
    for (const [task] of this.#store.state.tasks(name)) this.forgetTask(name, task);
  }

  /** The connector is deleted. */
  forget(name: string): void {
    for (const [task] of this.#store.state.tasks(name)) this.forgetTask(name, task);
    this.forgetTopics(name);
    if (this.#store.state.connector(name) !== null) this.#store.put(connectorStatusRecord(name, null, 0));
  }

  /** Nothing runs (yet, or any more): what is kept must not say so. */
  unassignAll(): void {
    const { state } = this.#store;
    for (const name of state.names()) {
      if (isActive(state.connector(name))) this.connector(name, 'UNASSIGNED', null);
      for (const [task, status] of state.tasks(name)) if (isActive(status)) this.task(name, task, 'UNASSIGNED', null);
    }
  }

  /** Resolves when all is written. */
  flush(): Promise<void> {
    return this.#store.flush();
  }

  #status(name: string, state: State, trace: string | null): Status {
    return { state, trace, workerId: this.#workerId, version: this.#version(name) };
  }
}

function isActive(status: Status | null): boolean {
  return status !== null && status.state !== 'STOPPED' && status.state !== 'FAILED' && status.state !== 'UNASSIGNED';
}

function shown({ state, trace, workerId, version }: Status): ConnectorStatus {
  const status = { state, worker_id: workerId, version };
  return trace === null || trace === '' ? status : { ...status, trace };
}
