import type { ConfigDef } from './configDef.ts';
import type { Config } from './connector.ts';
import type { ConnectRecord } from './record.ts';

/** A single message transform. */
export interface Transformation {
  configure(config: Config): void;
  /** The new record, or null to drop it. The record given is not changed. */
  apply<R extends ConnectRecord>(record: R): R | null;
  /** Where a transform changes the topic alone, and by its name alone: the new name. Then batches need not be taken apart for it. */
  route?(topic: string): string;
  close?(): void;
}
export interface Predicate {
  configure(config: Config): void;
  test(record: ConnectRecord): boolean;
  /** Where it asks for the topic alone: whether records of that topic match. */
  testTopic?(topic: string): boolean;
  close?(): void;
}
export interface ConfigData {
  readonly values: ReadonlyMap<string, string>;
  /** After this they are to be asked for again; absent = they hold for good. */
  readonly ttlMs?: number;
}
/** Resolves `${provider:path:key}`. */
export interface ConfigProvider {
  configure(config: Config): void;
  /** Values of `keys` at `path` ('' where the placeholder has none). Keys that are not there are absent. Throws ConnectError for an unreadable path. */
  get(path: string, keys: readonly string[]): Promise<ConfigData>;
  close?(): Promise<void>;
}

interface PluginBase {
  readonly className: string;
  readonly aliases: readonly string[];
  readonly version: string;
  readonly configDef: ConfigDef;
}
export interface TransformationPlugin extends PluginBase {
  readonly kind: 'transformation';
  create(): Transformation;
}
export interface PredicatePlugin extends PluginBase {
  readonly kind: 'predicate';
  create(): Predicate;
}
export interface ConfigProviderPlugin extends PluginBase {
  readonly kind: 'config_provider';
  create(): ConfigProvider;
}
