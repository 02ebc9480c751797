/**
 * What the config topic says: connectors with their raw configs, target states and task configs, and the key by which workers of a cluster sign.
 * Record formats are Kafka Connect's. Task configs count only once their commit record is read, all at once.
 */
import type { Config } from '../../api/connector.ts';
import type { InternalRecord } from './internalTopic.ts';

export type TargetState = 'STARTED' | 'PAUSED' | 'STOPPED';

export interface ConnectorEntry {
  /** As given by the user: placeholders of config providers unresolved. */
  readonly config: Config;
  readonly target: TargetState;
  /** As committed; empty where a set was incomplete, which asks for a new one. */
  readonly taskConfigs: readonly Config[];
}

/** The key of `X-Connect-Authorization`. */
export interface SessionKey {
  readonly key: Buffer;
  readonly algorithm: string;
  readonly createdMs: number;
}

/** What one record changed. Restarts and log levels are told once and not kept. */
export type ConfigChange =
  | { readonly kind: 'connector'; readonly name: string; readonly isNew: boolean }
  | { readonly kind: 'removed'; readonly name: string }
  | { readonly kind: 'target'; readonly name: string }
  | { readonly kind: 'tasks'; readonly name: string; readonly countChanged: boolean }
  | { readonly kind: 'fenced'; readonly name: string }
  | { readonly kind: 'restart'; readonly name: string; readonly includeTasks: boolean; readonly onlyFailed: boolean }
  | { readonly kind: 'logger'; readonly namespace: string; readonly level: string }
  | { readonly kind: 'sessionKey' };

const prefixes = {
  fencing: 'tasks-fencing-',
  restart: 'restart-connector-',
  logger: 'logger-cluster-',
  connector: 'connector-',
  task: 'task-',
  commit: 'commit-',
  target: 'target-state-',
  sessionKey: 'session-key',
} as const;

export class ConfigState {
  readonly #configs = new Map<string, Config>();
  readonly #targets = new Map<string, TargetState>();
  readonly #committed = new Map<string, readonly Config[]>();
  readonly #pending = new Map<string, Map<number, Config>>();
  /** Kept over the deletion of a connector: a new one of its name has the old tasks to fence. */
  readonly #generations = new Map<string, number>();
  readonly #fencedTasks = new Map<string, number>();
  readonly #unfenced = new Set<string>();
  #sessionKey: SessionKey | null = null;

  names(): string[] {
    return [...this.#configs.keys()];
  }

  connector(name: string): ConnectorEntry | null {
    const config = this.#configs.get(name);
    if (config === undefined) return null;
    return {
      config,
      target: this.#targets.get(name) ?? 'STARTED',
      taskConfigs: this.#committed.get(name) ?? [],
    };
  }

  get sessionKey(): SessionKey | null {
    return this.#sessionKey;
  }

  /** Of the newest task configs of a connector; counts what this worker has read, so that it compares with itself only. */
  taskGeneration(name: string): number {
    return this.#generations.get(name) ?? 0;
  }

  /** Of how many tasks there may be producers; null = of none. */
  taskCountRecord(name: string): number | null {
    return this.#fencedTasks.get(name) ?? null;
  }

  /** Whether tasks of earlier task configs are to be fenced before those of the newest start. */
  isFencingPending(name: string): boolean {
    return this.#unfenced.has(name);
  }

  /** Returns what is different now. */
  apply({ key, value }: InternalRecord): ConfigChange | null {
    const nameAfter = (prefix: string): string | null => (key.startsWith(prefix) ? key.slice(prefix.length) : null);
    let name: string | null;
    if ((name = nameAfter(prefixes.fencing)) !== null) return this.#applyFencing(name, value);
    if ((name = nameAfter(prefixes.connector)) !== null) return this.#applyConnector(name, value);
    if ((name = nameAfter(prefixes.target)) !== null) return this.#applyTarget(name, value);
    if ((name = nameAfter(prefixes.commit)) !== null) return this.#applyCommit(name, value);
    if ((name = nameAfter(prefixes.task)) !== null) return this.#applyTask(name, value);
    if (key === prefixes.sessionKey) return this.#applySessionKey(value);
    if (value === null) return null;
    if ((name = nameAfter(prefixes.restart)) !== null) {
      const request = value as { 'include-tasks'?: unknown; 'only-failed'?: unknown };
      const [includeTasks, onlyFailed] = [request['include-tasks'] === true, request['only-failed'] === true];
      return { kind: 'restart', name, includeTasks, onlyFailed };
    }
    if ((name = nameAfter(prefixes.logger)) !== null) {
      return { kind: 'logger', namespace: name, level: String((value as { level?: unknown }).level) };
    }
    return null;
  }

  #applyConnector(name: string, value: unknown): ConfigChange | null {
    const isNew = !this.#configs.has(name);
    if (value === null) {
      this.#configs.delete(name);
      this.#targets.delete(name);
      this.#committed.delete(name);
      this.#pending.delete(name);
      return isNew ? null : { kind: 'removed', name };
    }
    this.#configs.set(name, properties(value));
    return { kind: 'connector', name, isNew };
  }

  #applyTarget(name: string, value: unknown): ConfigChange | null {
    if (value === null) {
      this.#targets.delete(name);
      return null;
    }
    const { state, 'state.v2': stateV2 } = value as { state?: string; 'state.v2'?: string };
    const target = stateV2 ?? state;
    if (target !== 'STARTED' && target !== 'PAUSED' && target !== 'STOPPED') return null;
    this.#targets.set(name, target);
    return { kind: 'target', name };
  }

  #applySessionKey(value: unknown): ConfigChange | null {
    if (value === null) return null;
    const { key, algorithm, 'creation-timestamp': createdMs } = value as Record<string, unknown>;
    this.#sessionKey = {
      key: Buffer.from(String(key), 'base64'),
      algorithm: String(algorithm),
      createdMs: Number(createdMs),
    };
    return { kind: 'sessionKey' };
  }

  #applyFencing(name: string, value: unknown): ConfigChange | null {
    const count = Number((value as { 'task-count'?: unknown } | null)?.['task-count']);
    if (!Number.isInteger(count)) return null;
    this.#fencedTasks.set(name, count);
    this.#unfenced.delete(name);
    return { kind: 'fenced', name };
  }

  #applyTask(id: string, value: unknown): null {
    const [, name, task] = /^(.*)-(\d+)$/s.exec(id) ?? [];
    if (name === undefined || value === null) return null;
    let pending = this.#pending.get(name);
    if (pending === undefined) this.#pending.set(name, (pending = new Map()));
    pending.set(Number(task), properties(value));
    return null;
  }

  #applyCommit(name: string, value: unknown): ConfigChange | null {
    if (value === null) return null;
    const { tasks } = value as { tasks: number };
    const pending = this.#pending.get(name);
    const before = this.#committed.get(name) ?? [];
    const configs = Array.from({ length: tasks }, (_, task) => pending?.get(task) ?? before[task]);
    this.#pending.delete(name);
    const complete = configs.every(config => config !== undefined) ? (configs as Config[]) : [];
    this.#committed.set(name, complete);
    this.#generations.set(name, this.taskGeneration(name) + 1);
    this.#unfenced.add(name);
    return { kind: 'tasks', name, countChanged: complete.length !== before.length };
  }
}

function properties(value: unknown): Config {
  const { properties: found } = value as { properties?: Record<string, unknown> };
  const config: Record<string, string> = {};
  for (const [key, text] of Object.entries(found ?? {})) {
    // Java workers let null values in.
    if (text !== null) config[key] = String(text);
  }
  return config;
}

export function connectorRecord(name: string, config: Config | null): InternalRecord {
  return { key: prefixes.connector + name, value: config === null ? null : { properties: config } };
}

/** STOPPED is PAUSED to workers that do not know it. */
export function targetRecord(name: string, target: TargetState | null): InternalRecord {
  const value = target === null ? null : { state: target === 'STARTED' ? target : 'PAUSED', 'state.v2': target };
  return { key: prefixes.target + name, value };
}

/** All task configs of a connector, and the record that makes them count. */
export function taskRecords(name: string, configs: readonly Config[]): InternalRecord[] {
  const tasks = configs.map((config, task) => ({
    key: `${prefixes.task}${name}-${task}`,
    value: { properties: config },
  }));
  return [...tasks, { key: prefixes.commit + name, value: { tasks: configs.length } }];
}

/** So many tasks may have producers from now on, and no others. */
export function fencingRecord(name: string, tasks: number): InternalRecord {
  return { key: prefixes.fencing + name, value: { 'task-count': tasks } };
}

export function restartRecord(name: string, includeTasks: boolean, onlyFailed: boolean): InternalRecord {
  return { key: prefixes.restart + name, value: { 'include-tasks': includeTasks, 'only-failed': onlyFailed } };
}

export function loggerRecord(namespace: string, level: string): InternalRecord {
  return { key: prefixes.logger + namespace, value: { level } };
}

export function sessionKeyRecord({ key, algorithm, createdMs }: SessionKey): InternalRecord {
  const value = { key: key.toString('base64'), algorithm, 'creation-timestamp': createdMs };
  return { key: prefixes.sessionKey, value };
}
