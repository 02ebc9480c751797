/** What the status topic says, in Kafka Connect's formats: states of connectors and tasks, and the topics that connectors use. */
import type { InternalRecord } from './internalTopic.ts';

export type State = 'UNASSIGNED' | 'RUNNING' | 'PAUSED' | 'FAILED' | 'RESTARTING' | 'STOPPED';

export interface Status {
  readonly state: State;
  /** null = none. */
  readonly trace: string | null;
  readonly workerId: string;
  readonly version: string | null;
  /** Of the group when it was written; 0 for a worker alone. */
  readonly generation: number;
}

interface ConnectorStatuses {
  connector: Status | null;
  readonly tasks: Map<number, Status>;
  readonly topics: Map<string, unknown>;
}

export class StatusState {
  /** Whose statuses are its own word; null = nobody's. */
  readonly #workerId: string | null;
  readonly #connectors = new Map<string, ConnectorStatuses>();

  constructor(workerId: string | null = null) {
    this.#workerId = workerId;
  }

  connector(name: string): Status | null {
    return this.#connectors.get(name)?.connector ?? null;
  }

  task(name: string, task: number): Status | null {
    return this.#connectors.get(name)?.tasks.get(task) ?? null;
  }

  /** In the order of their ids. */
  tasks(name: string): readonly (readonly [number, Status])[] {
    return [...(this.#connectors.get(name)?.tasks ?? [])].sort(([a], [b]) => a - b);
  }

  topics(name: string): string[] {
    return [...(this.#connectors.get(name)?.topics.keys() ?? [])];
  }

  /** Connectors that have a status. */
  names(): string[] {
    return [...this.#connectors].filter(([, s]) => s.connector !== null || s.tasks.size > 0).map(([name]) => name);
  }

  /** Returns the status that stands against the record's, where that came too late; else null. */
  apply({ key, value }: InternalRecord): Status | null {
    const topic = /^status-topic-([^:]*):connector-(.*)$/s.exec(key);
    if (topic !== null) {
      const topics = this.#entry(topic[2]!).topics;
      if (value === null) topics.delete(topic[1]!);
      else topics.set(topic[1]!, value);
      return null;
    }
    const status = value === null ? null : parseStatus(value);
    const connector = /^status-connector-(.*)$/s.exec(key);
    if (connector !== null) {
      const entry = this.#entry(connector[1]!);
      if (this.#isOutdated(status, entry.connector)) return entry.connector;
      entry.connector = status;
      return null;
    }
    const task = /^status-task-(.*)-(\d+)$/s.exec(key);
    if (task === null) return null;
    const tasks = this.#entry(task[1]!).tasks;
    const id = Number(task[2]);
    const before = tasks.get(id) ?? null;
    if (this.#isOutdated(status, before)) return before;
    if (status === null) tasks.delete(id);
    else tasks.set(id, status);
    return null;
  }

  /**
   * A worker that lost its work may say so only after the next one has said that it runs it, and one that was halted finds its tasks failing when it goes on, or
   * only then gets to say that they run: none is news of what runs elsewhere by then. A worker knows that of what it runs itself. Of others RUNNING is taken
   * from a lower generation too: where all workers were gone, the group counts from the beginning.
   */
  #isOutdated(status: Status | null, before: Status | null): boolean {
    if (status === null || before === null || before.workerId === status.workerId) return false;
    if (before.workerId === this.#workerId && before.state !== 'UNASSIGNED') {
      if (before.generation > status.generation) return true;
    }
    if (before.state !== 'RUNNING') return false;
    if (status.state === 'UNASSIGNED') return before.generation >= status.generation;
    return (status.state === 'FAILED' || status.state === 'RESTARTING') && before.generation > status.generation;
  }

  #entry(name: string): ConnectorStatuses {
    let entry = this.#connectors.get(name);
    if (entry === undefined) {
      this.#connectors.set(name, (entry = { connector: null, tasks: new Map(), topics: new Map() }));
    }
    return entry;
  }
}

function parseStatus(value: unknown): Status {
  const status = value as {
    state: State;
    trace?: string | null;
    worker_id?: string;
    version?: string | null;
    generation?: number;
  };
  return {
    state: status.state,
    trace: status.trace ?? null,
    workerId: status.worker_id ?? '',
    version: status.version ?? null,
    generation: status.generation ?? 0,
  };
}

function statusValue(status: Status | null): unknown {
  if (status === null) return null;
  const { state, trace, workerId, version, generation } = status;
  return { state, trace, worker_id: workerId, generation, version };
}

/** The same status once more. */
export function statusRecord(key: string, status: Status): InternalRecord {
  return { key, value: statusValue(status) };
}

/** A null status is a tombstone. */
export function connectorStatusRecord(name: string, status: Status | null): InternalRecord {
  return { key: `status-connector-${name}`, value: statusValue(status) };
}

export function taskStatusRecord(name: string, task: number, status: Status | null): InternalRecord {
  return { key: `status-task-${name}-${task}`, value: statusValue(status) };
}

export function topicRecord(topic: string, connector: string, task: number): InternalRecord {
  const value = { topic: { name: topic, connector, task, discoverTimestamp: Date.now() } };
  return { key: `status-topic-${topic}:connector-${connector}`, value };
}

export function topicTombstone(topic: string, connector: string): InternalRecord {
  return { key: `status-topic-${topic}:connector-${connector}`, value: null };
}
