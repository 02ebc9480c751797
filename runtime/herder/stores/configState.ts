/**
 * What the config topic says: connectors with their raw configs, target states and task configs. Record formats are Kafka Connect's. Task configs
 * count only once their commit record is read, all at once.
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

const prefixes = {
  connector: 'connector-',
  task: 'task-',
  commit: 'commit-',
  target: 'target-state-',
} as const;

export class ConfigState {
  readonly #configs = new Map<string, Config>();
  readonly #targets = new Map<string, TargetState>();
  readonly #committed = new Map<string, readonly Config[]>();
  readonly #pending = new Map<string, Map<number, Config>>();

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

  /** Keys of other kinds (session keys, loggers, restarts, fencing) are of no concern here. */
  apply({ key, value }: InternalRecord): void {
    if (key.startsWith(prefixes.connector)) this.#applyConnector(key.slice(prefixes.connector.length), value);
    else if (key.startsWith(prefixes.target)) this.#applyTarget(key.slice(prefixes.target.length), value);
    else if (key.startsWith(prefixes.commit)) this.#applyCommit(key.slice(prefixes.commit.length), value);
    else if (key.startsWith(prefixes.task)) this.#applyTask(key.slice(prefixes.task.length), value);
  }

  #applyConnector(name: string, value: unknown): void {
    if (value === null) {
      this.#configs.delete(name);
      this.#targets.delete(name);
      this.#committed.delete(name);
      this.#pending.delete(name);
    } else this.#configs.set(name, properties(value));
  }

  #applyTarget(name: string, value: unknown): void {
    if (value === null) {
      this.#targets.delete(name);
      return;
    }
    const { state, 'state.v2': stateV2 } = value as { state?: string; 'state.v2'?: string };
    const target = stateV2 ?? state;
    if (target === 'STARTED' || target === 'PAUSED' || target === 'STOPPED') this.#targets.set(name, target);
  }

  #applyTask(id: string, value: unknown): void {
    const [, name, task] = /^(.*)-(\d+)$/s.exec(id) ?? [];
    if (name === undefined || value === null) return;
    let pending = this.#pending.get(name);
    if (pending === undefined) this.#pending.set(name, (pending = new Map()));
    pending.set(Number(task), properties(value));
  }

  #applyCommit(name: string, value: unknown): void {
    if (value === null) return;
    const { tasks } = value as { tasks: number };
    const pending = this.#pending.get(name);
    const before = this.#committed.get(name) ?? [];
    const configs = Array.from({ length: tasks }, (_, task) => pending?.get(task) ?? before[task]);
    this.#pending.delete(name);
    this.#committed.set(name, configs.some(config => config === undefined) ? [] : (configs as Config[]));
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
