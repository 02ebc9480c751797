/**
 * Fetches assigned partitions from their leaders: one request per node in flight, all partitions of the node in it. What came is kept, once per partition, until
 * it is taken; so memory is bounded by `fetch.max.bytes` per node. Failures that pass are repeated; others are thrown by `take`.
 */
import { ConnectError } from '../../../schemas/errors.ts';
import type { TopicPartition } from '../../api/connector.ts';
import type { FetchedPartition, PartitionOffset } from '../port.ts';
import { scanBatches } from '../records/index.ts';
import { backoffMs } from './backoff.ts';
import type { ConsumerSettings } from './consumerSettings.ts';
import { decodeFetch, type FetchAnswer, fetchRequest } from './fetchRequest.ts';
import type { KafkaCluster } from './kafkaCluster.ts';
import { isRetriableCode, isTransient, kafkaCode, kafkaErrorName, requestFailed } from './kafkaErrors.ts';
import { listOffsets } from './listOffsets.ts';
import type { NodeConnections } from './nodeConnections.ts';

export type StartAt = 'beginning' | 'end' | 'committed' | number;

/** How long an assignment waits for its positions. */
const positionTimeoutMs = 10_000;

interface Assigned extends TopicPartition {
  /** Behind what was taken; undefined until it is known. */
  position: number | undefined;
  /** Where the position comes from while it is undefined. */
  start: Exclude<StartAt, number>;
  /** Behind what came. */
  fetchPosition: number;
  came: FetchedPartition | null;
  paused: boolean;
  /** Changes with every seek: answers to older requests do not count. */
  version: number;
  /** Assigned, and not taken away since. */
  live: boolean;
}

export class PartitionFetcher {
  readonly #cluster: KafkaCluster;
  readonly #connections: NodeConnections;
  readonly #settings: ConsumerSettings;
  readonly #committed: (partitions: readonly TopicPartition[]) => Promise<readonly PartitionOffset[]>;
  readonly #wake: () => void;
  readonly #assigned = new Map<string, Assigned>();
  readonly #busyNodes = new Set<number>();
  #positioning: Promise<void> | null = null;
  #refreshing = false;
  #attempts = 0;
  #retryAt = 0;
  #failure: unknown = null;
  #closed = false;
  #turn = 0;

  constructor(
    cluster: KafkaCluster,
    connections: NodeConnections,
    settings: ConsumerSettings,
    committed: (partitions: readonly TopicPartition[]) => Promise<readonly PartitionOffset[]>,
    wake: () => void,
  ) {
    this.#cluster = cluster;
    this.#connections = connections;
    this.#settings = settings;
    this.#committed = committed;
    this.#wake = wake;
  }

  add(partitions: readonly TopicPartition[], start: (index: number) => StartAt): void {
    for (const [i, { topic, partition }] of partitions.entries()) {
      const from = start(i);
      const position = typeof from === 'number' ? from : undefined;
      this.#assigned.set(keyOf(topic, partition), {
        topic,
        partition,
        position,
        start: typeof from === 'number' ? 'beginning' : from,
        fetchPosition: position ?? -1,
        came: null,
        paused: false,
        version: 0,
        live: true,
      });
    }
  }

  remove(partitions: readonly TopicPartition[]): void {
    for (const { topic, partition } of partitions) {
      const assigned = this.find(topic, partition);
      if (assigned !== undefined) assigned.live = false;
      this.#assigned.delete(keyOf(topic, partition));
    }
  }

  find(topic: string, partition: number): Assigned | undefined {
    return this.#assigned.get(keyOf(topic, partition));
  }

  all(): TopicPartition[] {
    return [...this.#assigned.values()].map(({ topic, partition }) => ({ topic, partition }));
  }

  seek(topic: string, partition: number, offset: number): boolean {
    const assigned = this.find(topic, partition);
    if (assigned === undefined) return false;
    assigned.position = offset;
    assigned.fetchPosition = offset;
    assigned.came = null;
    assigned.version++;
    return true;
  }

  setPaused(partitions: readonly TopicPartition[], paused: boolean): void {
    for (const { topic, partition } of partitions) {
      const assigned = this.find(topic, partition);
      if (assigned !== undefined) assigned.paused = paused;
    }
    this.#wake();
  }

  /** What came of partitions that are not paused; positions move behind it. */
  take(): FetchedPartition[] {
    if (this.#failure !== null) {
      const failure = this.#failure;
      this.#failure = null;
      throw failure;
    }
    const taken: FetchedPartition[] = [];
    for (const assigned of this.#assigned.values()) {
      if (assigned.came === null || assigned.paused) continue;
      // An answer of control records alone moves the position and brings nothing.
      if (assigned.came.bytes.length > 0) taken.push(assigned.came);
      assigned.came = null;
      assigned.position = assigned.fetchPosition;
    }
    return taken;
  }

  /** Sends what can be sent now. `take` has something after the next wake-up, or sooner. */
  fetch(): void {
    if (this.#closed || this.#failure !== null) return;
    const now = Date.now();
    if (now < this.#retryAt) return;
    const byNode = new Map<number, Assigned[]>();
    const unknown = new Set<string>();
    let unpositioned = false;
    for (const assigned of this.#assigned.values()) {
      if (assigned.position === undefined) unpositioned = true;
      else if (assigned.came === null && !assigned.paused) {
        const leader =
          this.#cluster.topic(assigned.topic) === undefined
            ? -1
            : this.#cluster.leader(assigned.topic, assigned.partition);
        if (leader < 0) unknown.add(assigned.topic);
        else if (!this.#busyNodes.has(leader)) {
          const list = byNode.get(leader);
          if (list === undefined) byNode.set(leader, [assigned]);
          else list.push(assigned);
        }
      }
    }
    if (unpositioned) void this.#findPositions();
    if (unknown.size > 0) this.#refresh([...unknown]);
    for (const [node, list] of byNode) {
      this.#busyNodes.add(node);
      this.#fetchFrom(node, list)
        .catch(error => this.#failed(error))
        .finally(() => {
          this.#busyNodes.delete(node);
          this.#wake();
        });
    }
  }

  /** Resolves once all positions are known, or a failure is to be thrown by `take`; partitions that stay missing are left to `fetch`. */
  async positioned(signal: AbortSignal | undefined): Promise<void> {
    const until = Date.now() + positionTimeoutMs;
    const isWaiting = (): boolean => !this.#closed && !signal?.aborted && this.#failure === null && Date.now() < until;
    while (isWaiting() && this.#unpositioned().length > 0) {
      await this.#findPositions();
      if (this.#unpositioned().length > 0)
        await new Promise(resolve => setTimeout(resolve, Math.max(10, this.#retryAt - Date.now())));
    }
  }

  close(): void {
    this.#closed = true;
    this.#assigned.clear();
  }

  async #fetchFrom(node: number, list: readonly Assigned[]): Promise<void> {
    const address = this.#cluster.address(node);
    if (address === undefined) {
      this.#refresh(list.map(a => a.topic));
      return;
    }
    const connection = await this.#connections.to(address);
    // Another one first each time, since the broker fills the answer in order.
    const first = this.#turn++ % list.length;
    const asked = [...list.slice(first), ...list.slice(0, first)].map(assigned => ({
      assigned,
      version: assigned.version,
      topic: assigned.topic,
      partition: assigned.partition,
      fetchOffset: assigned.fetchPosition,
    }));
    const { errorCode, parts } = decodeFetch(await connection.exchange(fetchRequest(asked, this.#settings.fetch)));
    if (errorCode !== kafkaCode.none) throw requestFailed('Fetching', errorCode);
    this.#attempts = 0;
    const answers = new Map(parts.map(part => [keyOf(part.topic, part.partition), part]));
    for (const { assigned, version } of asked) {
      const answer = answers.get(keyOf(assigned.topic, assigned.partition));
      if (answer === undefined || !assigned.live || assigned.version !== version) continue;
      this.#came(assigned, answer);
    }
  }

  #came(assigned: Assigned, answer: FetchAnswer): void {
    const { topic, partition } = assigned;
    const { errorCode } = answer;
    if (errorCode === kafkaCode.none) {
      this.#keep(assigned, answer);
    } else if (errorCode === kafkaCode.offsetOutOfRange) {
      if (this.#settings.autoOffsetReset === 'none') throw outOfRange(assigned);
      this.#cluster.logger.warn(
        { topic, partition, offset: assigned.fetchPosition, reset: this.#settings.autoOffsetReset },
        'the position is outside of what the partition holds; it is reset',
      );
      assigned.position = undefined;
      assigned.start = this.#settings.autoOffsetReset === 'earliest' ? 'beginning' : 'end';
    } else if (isRetriableCode(errorCode)) {
      this.#cluster.logger.debug({ topic, partition, why: kafkaErrorName(errorCode) }, 'fetching again');
      this.#backOff();
      this.#refresh([topic]);
    } else {
      throw requestFailed(`Fetching from ${topic}-${partition}`, errorCode, { place: { topic, partition } });
    }
  }

  #keep(assigned: Assigned, answer: FetchAnswer): void {
    const { topic, partition, bytes, highWatermark, lastStableOffset, abortedTransactions } = answer;
    if (bytes.length === 0) return;
    const fetchOffset = assigned.fetchPosition;
    const last = scanBatches({ topic, partition, bytes, fetchOffset }, false).at(-1);
    // Not one whole batch, although the broker sends one at least where there is one: nothing to take, the next fetch decides.
    if (last === undefined) return;
    assigned.fetchPosition = Math.max(fetchOffset, last.lastOffset + 1);
    assigned.came = { topic, partition, bytes, fetchOffset, highWatermark, lastStableOffset, abortedTransactions };
  }

  #unpositioned(): Assigned[] {
    return [...this.#assigned.values()].filter(a => a.position === undefined);
  }

  #findPositions(): Promise<void> {
    if (Date.now() < this.#retryAt) return Promise.resolve();
    this.#positioning ??= this.#lookUpPositions()
      .catch(error => this.#failed(error))
      .finally(() => {
        this.#positioning = null;
        this.#wake();
      });
    return this.#positioning;
  }

  async #lookUpPositions(): Promise<void> {
    const missing = this.#unpositioned().map(assigned => ({
      assigned,
      version: assigned.version,
      start: assigned.start,
    }));
    const set = (entry: (typeof missing)[number], offset: number): void => {
      const { assigned, version } = entry;
      if (!assigned.live || assigned.version !== version || assigned.position !== undefined) return;
      assigned.position = offset;
      assigned.fetchPosition = offset;
    };
    const committed = missing.filter(m => m.start === 'committed');
    const known = new Map(
      (await this.#committed(committed.map(m => m.assigned))).map(o => [keyOf(o.topic, o.partition), o.offset]),
    );
    const listed: { entry: (typeof missing)[number]; spec: 'earliest' | 'latest' }[] = [];
    for (const entry of missing) {
      const offset =
        entry.start === 'committed' ? known.get(keyOf(entry.assigned.topic, entry.assigned.partition)) : undefined;
      if (offset !== undefined) set(entry, offset);
      else if (entry.start === 'committed' && this.#settings.autoOffsetReset === 'none') throw noOffset(entry.assigned);
      else {
        const start = entry.start === 'committed' ? this.#settings.autoOffsetReset : entry.start;
        listed.push({ entry, spec: start === 'earliest' || start === 'beginning' ? 'earliest' : 'latest' });
      }
    }
    for (const spec of ['earliest', 'latest'] as const) {
      const entries = listed.filter(l => l.spec === spec).map(l => l.entry);
      if (entries.length === 0) continue;
      const { readCommitted } = this.#settings.fetch;
      const offsets = await listOffsets(
        this.#cluster,
        this.#connections,
        entries.map(e => e.assigned),
        spec,
        readCommitted,
      );
      const found = new Map(offsets.map(o => [keyOf(o.topic, o.partition), o.offset]));
      for (const entry of entries) set(entry, found.get(keyOf(entry.assigned.topic, entry.assigned.partition))!);
    }
  }

  #failed(error: unknown): void {
    if (this.#closed) return;
    if (!isTransient(error)) {
      this.#failure = error;
      return;
    }
    this.#cluster.logger.debug({ why: String(error) }, 'fetching again');
    this.#backOff();
    this.#refresh([...new Set([...this.#assigned.values()].map(a => a.topic))]);
  }

  #backOff(): void {
    const { retryBackoffMs, retryBackoffMaxMs } = this.#cluster.settings;
    const wait = backoffMs(this.#attempts++, retryBackoffMs, retryBackoffMaxMs);
    this.#retryAt = Date.now() + wait;
    setTimeout(this.#wake, wait + 1);
  }

  #refresh(topics: readonly string[]): void {
    if (this.#refreshing || topics.length === 0) return;
    this.#refreshing = true;
    this.#cluster
      .refresh([...new Set(topics)])
      .catch(error => {
        if (!isTransient(error)) this.#failure = error;
      })
      .finally(() => {
        this.#refreshing = false;
        // A missing topic may still come: asked for again, but not at once.
        if (topics.some(topic => this.#cluster.topic(topic)?.errorCode !== kafkaCode.none)) this.#backOff();
        this.#wake();
      });
  }
}

const keyOf = (topic: string, partition: number): string => `${topic}\n${partition}`;

function outOfRange({ topic, partition, fetchPosition }: Assigned): ConnectError {
  return new ConnectError(
    'BROKER_OFFSET_OUT_OF_RANGE',
    `Offset ${fetchPosition} of ${topic}-${partition} is no longer, or not yet, in the partition, and auto.offset.reset is none.`,
    { place: { topic, partition, offset: fetchPosition } },
  );
}

function noOffset({ topic, partition }: Assigned): ConnectError {
  return new ConnectError(
    'BROKER_OFFSET_OUT_OF_RANGE',
    `The group has no committed offset for ${topic}-${partition}, and auto.offset.reset is none.`,
    { place: { topic, partition } },
  );
}
