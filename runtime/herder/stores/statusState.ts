/** What the status topic says, in Kafka Connect's formats: states of connectors and tasks, and the topics that connectors use. */
import type { InternalRecord } from './internalTopic.ts';

export type State = 'UNASSIGNED' | 'RUNNING' | 'PAUSED' | 'FAILED' | 'RESTARTING' | 'STOPPED';

export interface Status {
  readonly state: State;
  /** null = none. */
  readonly trace: string | null;
  readonly workerId: string;
  readonly version: string | null;
}

interface ConnectorStatuses {
  connector: Status | null;
  readonly tasks: Map<number, Status>;
  readonly topics: Map<string, unknown>;
}

export class StatusState {
  readonly #connectors = new Map<string, ConnectorStatuses>();

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

  apply({ key, value }: InternalRecord): void {
    const topic = /^status-topic-([^:]*):connector-(.*)$/s.exec(key);
    if (topic !== null) {
      const topics = this.#entry(topic[2]!).topics;
      if (value === null) topics.delete(topic[1]!);
      else topics.set(topic[1]!, value);
      return;
    }
    const connector = /^status-connector-(.*)$/s.exec(key);
    if (connector !== null) {
      this.#entry(connector[1]!).connector = value === null ? null : parseStatus(value);
      return;
    }
    const task = /^status-task-(.*)-(\d+)$/s.exec(key);
    if (task === null) return;
    const tasks = this.#entry(task[1]!).tasks;
    if (value === null) tasks.delete(Number(task[2]));
    else tasks.set(Number(task[2]), parseStatus(value));
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
  const status = value as { state: State; trace?: string | null; worker_id?: string; version?: string | null };
  return {
    state: status.state,
    trace: status.trace ?? null,
    workerId: status.worker_id ?? '',
    version: status.version ?? null,
  };
}

function statusValue(status: Status | null, generation: number): unknown {
  if (status === null) return null;
  const { state, trace, workerId, version } = status;
  return { state, trace, worker_id: workerId, generation, version };
}

/** A null status is a tombstone. */
export function connectorStatusRecord(name: string, status: Status | null, generation: number): InternalRecord {
  return { key: `status-connector-${name}`, value: statusValue(status, generation) };
}

export function taskStatusRecord(
  name: string,
  task: number,
  status: Status | null,
  generation: number,
): InternalRecord {
  return { key: `status-task-${name}-${task}`, value: statusValue(status, generation) };
}

export function topicRecord(topic: string, connector: string, task: number): InternalRecord {
  const value = { topic: { name: topic, connector, task, discoverTimestamp: Date.now() } };
  return { key: `status-topic-${topic}:connector-${connector}`, value };
}

export function topicTombstone(topic: string, connector: string): InternalRecord {
  return { key: `status-topic-${topic}:connector-${connector}`, value: null };
}
