/**
 * What the workers of a cluster tell each other through the group's coordinator, in Kafka Connect's encodings: each member its address, how far it
 * has read the config topic and what it runs; the leader to each what to run. Version 0 is the eager protocol, 1 the incremental
 * one, 2 the same with signed requests between workers.
 */
import { RawDecoder } from '../../broker/kafka/rawDecoder.ts';
import { RawEncoder } from '../../broker/kafka/rawEncoder.ts';
import { parseWorkKey, workKey } from './workIds.ts';

export type ProtocolVersion = 0 | 1 | 2;

/** The leader could not read the config topic as far as a member had: everybody reads it again and joins anew. */
export const configMismatch = 1;

export interface WorkerMetadata {
  /** Of the worker's REST API, with a slash at its end. */
  readonly url: string;
  /** Offset of the config topic's next record; -1 = it is empty. */
  readonly configOffset: number;
  /** What the member runs, keys of `workIds.ts`. */
  readonly held: ReadonlySet<string>;
}

export interface Assignment {
  readonly error: number;
  /** Member id. */
  readonly leader: string;
  readonly leaderUrl: string;
  readonly configOffset: number;
  /** Version 0: all that is to run. Later: what comes to what the member runs. */
  readonly assigned: ReadonlySet<string>;
  /** To be stopped. */
  readonly revoked: ReadonlySet<string>;
  /** After which the member shall join again; 0 = it need not. */
  readonly delayMs: number;
}

/** Names on the wire, by version. */
const protocolNames: readonly string[] = ['default', 'compatible', 'sessioned'];

export type ConnectProtocol = 'eager' | 'compatible' | 'sessioned';

/** The protocols that a worker offers, preferred first. */
export function offeredVersions(protocol: ConnectProtocol): readonly ProtocolVersion[] {
  switch (protocol) {
    case 'eager':
      return [0];
    case 'compatible':
      return [1, 0];
    case 'sessioned':
      return [2, 1, 0];
  }
}

export function protocolName(version: ProtocolVersion): string {
  return protocolNames[version]!;
}

export function protocolVersion(name: string): ProtocolVersion {
  const version = protocolNames.indexOf(name);
  if (version < 0) throw new TypeError(`the group uses the protocol ${name}, which no worker offers`);
  return version as ProtocolVersion;
}

export function encodeMetadata(metadata: WorkerMetadata, version: ProtocolVersion, held: Assignment | null): Buffer {
  const { url, configOffset } = metadata;
  const allocation =
    version === 0 || held === null || metadata.held.size === 0
      ? null
      : encodeAssignment({ ...held, assigned: metadata.held, revoked: new Set(), delayMs: 0 }, version);
  const encoder = new RawEncoder(10 + RawEncoder.stringBytes(url) + 4 + (allocation?.length ?? 0));
  encoder.int16(version).string(url).int64(BigInt(configOffset));
  if (version > 0) encoder.bytes(allocation);
  return encoder.finish();
}

export function decodeMetadata(bytes: Buffer): WorkerMetadata {
  const decoder = new RawDecoder(bytes);
  const version = decoder.int16();
  const url = decoder.string() ?? '';
  const configOffset = Number(decoder.int64());
  const allocation = version >= 1 ? decoder.bytes() : null;
  const held =
    allocation === null || allocation.length === 0 ? new Set<string>() : decodeAssignment(allocation).assigned;
  return { url, configOffset, held };
}

export function encodeAssignment(assignment: Assignment, version: ProtocolVersion): Buffer {
  const { error, leader, leaderUrl, configOffset, delayMs } = assignment;
  const [assigned, revoked] = [byConnector(assignment.assigned), byConnector(assignment.revoked)];
  const fixed = 16 + RawEncoder.stringBytes(leader) + RawEncoder.stringBytes(leaderUrl);
  const encoder = new RawEncoder(fixed + workBytes(assigned) + workBytes(revoked));
  encoder.int16(version).int16(error).string(leader).string(leaderUrl).int64(BigInt(configOffset));
  writeWork(encoder, assigned);
  return version === 0 ? encoder.finish() : writeWork(encoder, revoked).int32(delayMs).finish();
}

export function decodeAssignment(bytes: Buffer): Assignment {
  const decoder = new RawDecoder(bytes);
  const version = decoder.int16();
  return {
    error: decoder.int16(),
    leader: decoder.string() ?? '',
    leaderUrl: decoder.string() ?? '',
    configOffset: Number(decoder.int64()),
    assigned: readWork(decoder),
    revoked: version >= 1 && decoder.remaining > 0 ? readWork(decoder) : new Set(),
    delayMs: version >= 1 && decoder.remaining > 0 ? decoder.int32() : 0,
  };
}

type WorkByConnector = ReadonlyMap<string, readonly number[]>;

function byConnector(keys: ReadonlySet<string>): WorkByConnector {
  const map = new Map<string, number[]>();
  for (const key of keys) {
    const { connector, task } = parseWorkKey(key);
    const tasks = map.get(connector);
    if (tasks === undefined) map.set(connector, [task]);
    else tasks.push(task);
  }
  return map;
}

function workBytes(work: WorkByConnector): number {
  let bytes = 4;
  for (const [connector, tasks] of work) bytes += RawEncoder.stringBytes(connector) + 4 + 4 * tasks.length;
  return bytes;
}

function writeWork(encoder: RawEncoder, work: WorkByConnector): RawEncoder {
  encoder.int32(work.size);
  for (const [connector, tasks] of work) {
    encoder.string(connector).int32(tasks.length);
    for (const task of tasks) encoder.int32(task);
  }
  return encoder;
}

/** Null and an empty array mean the same; Java workers write the latter. */
function readWork(decoder: RawDecoder): Set<string> {
  const count = decoder.int32();
  const keys = new Set<string>();
  for (let i = 0; i < count; i++) {
    const connector = decoder.string() ?? '';
    for (const task of decoder.array(() => decoder.int32())) keys.add(workKey({ connector, task }));
  }
  return keys;
}
