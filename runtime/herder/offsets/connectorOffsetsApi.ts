/** Offsets of connectors as the REST API shows and changes them. Whether a connector may be changed is the caller's matter. */
import type { Config } from '../../api/connector.ts';
import type { ConfigResolver } from '../../config/configResolver.ts';
import { sinkGroupId } from '../../worker/clientSettings.ts';
import type { Worker } from '../../worker/worker.ts';
import type { OffsetEntry } from '../herder.ts';
import { alterSinkOffsets, parseSinkOffsets, sinkOffsets } from './sinkOffsets.ts';

export class ConnectorOffsetsApi {
  readonly #worker: Worker;
  readonly #resolver: ConfigResolver;

  constructor(worker: Worker, resolver: ConfigResolver) {
    this.#worker = worker;
    this.#resolver = resolver;
  }

  async list(name: string, raw: Config): Promise<readonly OffsetEntry[]> {
    const config = await this.#resolver.resolve(raw);
    const plugin = this.#worker.plugins.connector(config['connector.class'] ?? '');
    if (plugin.kind === 'sink') return sinkOffsets(this.#worker.broker.admin(), sinkGroupId(name, config));
    return this.#worker.sourceOffsets(name, config);
  }

  /** Null entries = all are reset. Returns what to tell the user. */
  async alter(name: string, raw: Config, entries: readonly OffsetEntry[] | null): Promise<string> {
    const config = await this.#resolver.resolve(raw);
    const plugin = this.#worker.plugins.connector(config['connector.class'] ?? '');
    const done = entries === null ? 'reset' : 'altered';
    if (plugin.kind === 'source') return answer(done, await this.#worker.alterSourceOffsets(name, config, entries));
    const admin = this.#worker.broker.admin();
    const groupId = sinkGroupId(name, config);
    const changes = entries === null ? null : parseSinkOffsets(entries);
    const all = changes ?? (await admin.groupOffsets(groupId)).map(position => ({ ...position, offset: null }));
    const hook = (await this.#worker.plugins.load(plugin.className, 'sink')).createConnector();
    const complete = (await hook.alterOffsets?.(config, all)) ?? true;
    await alterSinkOffsets(admin, groupId, changes);
    return answer(done, complete);
  }
}

/** `complete`: nothing is left to be changed elsewhere. */
function answer(done: 'altered' | 'reset', complete: boolean): string {
  if (complete) return `The offsets for this connector have been ${done} successfully`;
  return `The Connect framework-managed offsets for this connector have been ${done} successfully. However, if this connector manages offsets externally, they will need to be manually ${done} in the system that the connector uses.`;
}
