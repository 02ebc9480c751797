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

  readonly #generation: () => number;

  /** `generation`: of the group, where there is one. */
  constructor(
    store: StatusStore,
    workerId: string,
    version: (connector: string) => string | null,
    generation: () => number = () => 0,
  ) {
    this.#store = store;
    this.#workerId = workerId;
    this.#version = version;
    this.#generation = generation;
  }

  connector(name: string, state: State, trace: string | null): void {
    this.#store.put(connectorStatusRecord(name, this.#status(name, state, trace)));
  }

  task(name: string, task: number, state: State, trace: string | null): void {
    this.#store.put(taskStatusRecord(name, task, this.#status(name, state, trace)));
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
    this.#store.put(taskStatusRecord(name, task, null));
  }

  /**
   * The connector or task (null = the connector) no longer runs here. Nothing is said where another worker has said something since. It is said as of the
   * generation in which it ran here: this worker may be in a later one by now, in which another runs it, and not have heard of that.
   */
  released(name: string, task: number | null): void {
    const { state } = this.#store;
    const status = task === null ? state.connector(name) : state.task(name, task);
    if (status === null || status.workerId !== this.#workerId) return;
    const free = { ...this.#status(name, 'UNASSIGNED', null), generation: status.generation };
    this.#store.put(task === null ? connectorStatusRecord(name, free) : taskStatusRecord(name, task, free));
  }

  /** The connector is deleted. */
  forget(name: string): void {
    for (const [task] of this.#store.state.tasks(name)) this.forgetTask(name, task);
    this.forgetTopics(name);
    if (this.#store.state.connector(name) !== null) this.#store.put(connectorStatusRecord(name, null));
  }

  /** What is kept as running, and meant by `which`, runs nowhere (yet, or any more): what is kept must not say so. */
  unassign(which: (status: Status, name: string, task: number | null) => boolean = () => true): void {
    const { state } = this.#store;
    for (const name of state.names()) {
      const connector = state.connector(name);
      if (isActive(connector) && which(connector, name, null)) this.connector(name, 'UNASSIGNED', null);
      for (const [task, status] of state.tasks(name)) {
        if (isActive(status) && which(status, name, task)) this.task(name, task, 'UNASSIGNED', null);
      }
    }
  }

  /** Connectors that have a status. */
  names(): readonly string[] {
    return this.#store.state.names();
  }

  /** Resolves when all is written. */
  flush(): Promise<void> {
    return this.#store.flush();
  }

  #status(name: string, state: State, trace: string | null): Status {
    return { state, trace, workerId: this.#workerId, version: this.#version(name), generation: this.#generation() };
  }
}

function isActive(status: Status | null): status is Status {
  return status !== null && status.state !== 'STOPPED' && status.state !== 'FAILED' && status.state !== 'UNASSIGNED';
}

function shown({ state, trace, workerId, version }: Status): ConnectorStatus {
  const status = { state, worker_id: workerId, version };
  return trace === null || trace === '' ? status : { ...status, trace };
}
