/**
 * The files of the embedded broker: one LMDB environment with four databases. Owns their layout and the write transaction;
 * any thread or process may read, only the log thread of the owning process writes. The space of what is removed is used again; the file never shrinks.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';

/** When a commit counts as durable: handed to the operating system (survives the end of the process), or flushed to disk (survives a power cut). */
export type FlushMode = 'os' | 'fsync';

/** Address space for the map, not disk space: the file grows as it is written. */
const mapBytes = 2 ** 40;
const maxReaders = 1024;

/** Flags of lmdb's `transactionSync`: abortable, committed on return; without the last bit also flushed on return. */
const transactionFlags = { os: 0x1_0003, fsync: 3 } as const;

export interface Store {
  /** Record batches. Key: `logKey`. */
  readonly log: Database<Buffer, Buffer>;
  /** Aborted transactions. Key: `logKey` of the abort marker; value: `encodeAborted`. */
  readonly aborted: Database<Buffer, Buffer>;
  /** Partition states. Key: `partitionKey`; value: `encodePartitionState`. */
  readonly partitions: Database<Buffer, Buffer>;
  /** Topics, committed offsets, producer ids, schemas: small JSON documents under array keys such as `['topic', name]`. */
  readonly meta: Database<unknown, MetaKey>;
  /** Makes the following reads see the latest commit; reads between two calls and without an await see one snapshot. */
  refresh(): void;
  write<T>(body: () => T, flush: FlushMode): T;
  /** Old pages stay for a reader; one whose process was killed would keep them, and the file grow, for ever. */
  forgetDeadReaders(): void;
  close(): Promise<void>;
}

export type MetaKey = (string | number)[];

export function storeExists(dataDir: string): boolean {
  return existsSync(join(dataDir, 'log', 'data.mdb'));
}

export function openStore(dataDir: string, readOnly: boolean): Store {
  const root: RootDatabase<Buffer, Buffer> = open({
    path: join(dataDir, 'log'),
    noSubdir: false,
    maxDbs: 8,
    maxReaders,
    mapSize: mapBytes,
    encoding: 'binary',
    keyEncoding: 'binary',
    readOnly,
  });
  const binary = (name: string) => root.openDB<Buffer, Buffer>({ name, encoding: 'binary', keyEncoding: 'binary' });
  const store: Store = {
    log: binary('log'),
    aborted: binary('aborted'),
    partitions: binary('partitions'),
    meta: root.openDB<unknown, MetaKey>({ name: 'meta', encoding: 'json' }),
    refresh: () => root.resetReadTxn(),
    write: (body, flush) => root.transactionSync(body, transactionFlags[flush] as number),
    forgetDeadReaders: () => void root.readerCheck(),
    close: () => root.close(),
  };
  return store;
}

export function partitionKey(topicId: number, partition: number): Buffer {
  const key = Buffer.allocUnsafe(8);
  key.writeUInt32BE(topicId, 0);
  key.writeUInt32BE(partition, 4);
  return key;
}

/** Sorts by topic id, partition, offset. */
export function logKey(topicId: number, partition: number, offset: number): Buffer {
  const key = Buffer.allocUnsafe(16);
  key.writeUInt32BE(topicId, 0);
  key.writeUInt32BE(partition, 4);
  key.writeUInt32BE(Math.floor(offset / 2 ** 32), 8);
  key.writeUInt32BE(offset % 2 ** 32, 12);
  return key;
}

export function offsetOfKey(key: Buffer): number {
  return key.readUInt32BE(8) * 2 ** 32 + key.readUInt32BE(12);
}

export interface PartitionState {
  /** First offset kept. */
  readonly earliest: number;
  /** Offset of the next record: Kafka's high watermark. */
  readonly next: number;
  /** First offset of the oldest open transaction, else `next`. */
  readonly lastStable: number;
  /** Stored bytes of all batches. */
  readonly bytes: number;
  /** Compaction has seen everything below. */
  readonly cleanedTo: number;
  /** Stored bytes of what is below `cleanedTo`. */
  readonly cleanedBytes: number;
}

export function encodePartitionState(state: PartitionState): Buffer {
  const value = Buffer.allocUnsafe(48);
  value.writeDoubleLE(state.earliest, 0);
  value.writeDoubleLE(state.next, 8);
  value.writeDoubleLE(state.lastStable, 16);
  value.writeDoubleLE(state.bytes, 24);
  value.writeDoubleLE(state.cleanedTo, 32);
  value.writeDoubleLE(state.cleanedBytes, 40);
  return value;
}

export function decodePartitionState(value: Buffer): PartitionState {
  return {
    earliest: value.readDoubleLE(0),
    next: value.readDoubleLE(8),
    lastStable: value.readDoubleLE(16),
    bytes: value.readDoubleLE(24),
    cleanedTo: value.readDoubleLE(32),
    cleanedBytes: value.readDoubleLE(40),
  };
}

export interface AbortedTransaction {
  readonly producerId: bigint;
  readonly firstOffset: number;
}

export function encodeAborted(aborted: AbortedTransaction): Buffer {
  const value = Buffer.allocUnsafe(16);
  value.writeBigInt64LE(aborted.producerId, 0);
  value.writeDoubleLE(aborted.firstOffset, 8);
  return value;
}

export function decodeAborted(value: Buffer): AbortedTransaction {
  return { producerId: value.readBigInt64LE(0), firstOffset: value.readDoubleLE(8) };
}

export interface TopicDocument {
  readonly id: number;
  readonly partitions: number;
  readonly configs: Readonly<Record<string, string>>;
}

export interface OffsetDocument {
  readonly offset: number;
  readonly metadata: string;
}

export function readTopic(store: Store, name: string): TopicDocument | undefined {
  return store.meta.get(['topic', name]) as TopicDocument | undefined;
}

export function readPartitionState(store: Store, topicId: number, partition: number): PartitionState | undefined {
  const value = store.partitions.getBinary(partitionKey(topicId, partition));
  return value === undefined ? undefined : decodePartitionState(value);
}

/** Entries whose key starts with `prefix`, in key order. */
export function* readMeta<T>(store: Store, ...prefix: (string | number)[]): Generator<{ key: MetaKey; value: T }> {
  for (const { key, value } of store.meta.getRange({ start: prefix })) {
    if (!prefix.every((part, i) => key[i] === part)) return;
    yield { key, value: value as T };
  }
}
