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
  /** What was said last of what runs here, by `partKey`. */
  readonly #said = new Map<string, { readonly state: State; readonly trace: string | null }>();

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
    this.#said.set(partKey(name, null), { state, trace });
    this.#put(name, null, this.#status(name, state, trace));
  }

  task(name: string, task: number, state: State, trace: string | null): void {
    this.#said.set(partKey(name, task), { state, trace });
    this.#put(name, task, this.#status(name, state, trace));
  }

  /**
   * The connector or task (null = the connector) runs here still: what was said of it is said again where something else has come in between, such as
   * that it runs nowhere, when this worker lost and gained it in one.
   */
  confirm(name: string, task: number | null): void {
    const said = this.#said.get(partKey(name, task));
    const kept = this.#kept(name, task);
    if (said === undefined || (kept?.workerId === this.#workerId && kept.state === said.state)) return;
    this.#put(name, task, this.#status(name, said.state, said.trace));
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

  /**
   * Of a connector that has so many tasks. One beyond is shown while it runs; that it runs nowhere may be said too late, by a worker that was cut off while the
   * connector was stopped.
   */
  taskStatuses(name: string, taskCount: number): TaskStatus[] {
    return this.#store.state
      .tasks(name)
      .filter(([id, { state }]) => id < taskCount || state !== 'UNASSIGNED')
      .map(([id, status]) => ({ id, ...shown(status) }));
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
    this.#said.delete(partKey(name, task));
    this.#put(name, task, null);
  }

  /**
   * The connector or task (null = the connector) no longer runs here. Nothing is said where another worker has said something since. It is said as of the
   * generation in which it ran here: this worker may be in a later one by now, in which another runs it, and not have heard of that.
   */
  released(name: string, task: number | null): void {
    this.#said.delete(partKey(name, task));
    const status = this.#kept(name, task);
    if (status === null || status.workerId !== this.#workerId) return;
    this.#put(name, task, { ...this.#status(name, 'UNASSIGNED', null), generation: status.generation });
  }

  /** The connector is deleted. */
  forget(name: string): void {
    for (const [task] of this.#store.state.tasks(name)) this.forgetTask(name, task);
    this.forgetTopics(name);
    this.#said.delete(partKey(name, null));
    if (this.#store.state.connector(name) !== null) this.#put(name, null, null);
  }

  /** What is kept as running, and meant by `which`, runs nowhere (yet, or any more): what is kept must not say so. */
  unassign(which: (status: Status, name: string, task: number | null) => boolean = () => true): void {
    const { state } = this.#store;
    for (const name of state.names()) {
      const parts = [[null, state.connector(name)] as const, ...state.tasks(name)];
      for (const [task, status] of parts) {
        if (isActive(status) && which(status, name, task))
          this.#put(name, task, this.#status(name, 'UNASSIGNED', null));
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

  #kept(name: string, task: number | null): Status | null {
    const { state } = this.#store;
    return task === null ? state.connector(name) : state.task(name, task);
  }

  /** `status` null = there is none any more. */
  #put(name: string, task: number | null, status: Status | null): void {
    this.#store.put(task === null ? connectorStatusRecord(name, status) : taskStatusRecord(name, task, status));
  }

  #status(name: string, state: State, trace: string | null): Status {
    return { state, trace, workerId: this.#workerId, version: this.#version(name), generation: this.#generation() };
  }
}

/** `task` null = the connector. */
const partKey = (name: string, task: number | null): string => `${task ?? 'connector'}:${name}`;

function isActive(status: Status | null): status is Status {
  return status !== null && status.state !== 'STOPPED' && status.state !== 'FAILED' && status.state !== 'UNASSIGNED';
}

function shown({ state, trace, workerId, version }: Status): ConnectorStatus {
  const status = { state, worker_id: workerId, version };
  return trace === null || trace === '' ? status : { ...status, trace };
}
