/** The events that begin a transaction: its id, and when it was committed where it was first. */
import { ByteReader } from './byteReader.ts';
import type { Gtid } from './gtid.ts';

export interface TransactionStart {
  /** null = anonymous. */
  readonly gtid: Gtid | null;
  /** Microseconds since 1970; null = the log does not say. */
  readonly originalCommitUs: bigint | null;
  /** A single statement without BEGIN follows; MariaDB says so. */
  readonly isStandalone: boolean;
}

const uuidText = (bytes: Buffer): string =>
  bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/** Of the server that transactions came from last: its bytes and its text, which many follow each other with. */
const lastUuid = Buffer.alloc(16);
let lastPrefix = `${uuidText(lastUuid)}:`;

function prefixOf(bytes: Buffer, p: number): string {
  if (lastUuid.compare(bytes, p, p + 16) === 0) return lastPrefix;
  bytes.copy(lastUuid, 0, p, p + 16);
  lastPrefix = `${uuidText(lastUuid)}:`;
  return lastPrefix;
}

const HAS_ORIGINAL_TIME = 1n << 55n;

/** GTID and ANONYMOUS_GTID: flags, UUID, number, kind of time stamp, two numbers, then seven bytes of commit time and where bit 55 is set the original. */
export function readGtid(bytes: Buffer, body: number, end: number, isAnonymous: boolean): TransactionStart {
  const number = bytes.readBigInt64LE(body + 17);
  const gtid = isAnonymous ? null : { prefix: prefixOf(bytes, body + 1), number };
  const times = body + 42;
  return { gtid, originalCommitUs: originalCommit(bytes, times, end), isStandalone: false };
}

function originalCommit(bytes: Buffer, p: number, end: number): bigint | null {
  if (p + 7 > end) return null;
  const immediate = sevenBytes(bytes, p);
  if ((immediate & HAS_ORIGINAL_TIME) === 0n) return immediate;
  return p + 14 > end ? null : sevenBytes(bytes, p + 7);
}

const sevenBytes = (bytes: Buffer, p: number): bigint =>
  BigInt(bytes.readUInt32LE(p)) | (BigInt(bytes.readUIntLE(p + 4, 3)) << 32n);

/** GTID of MariaDB: sequence, domain, flags (1 = standalone); the server is the one of the event's header. */
export function readMariaGtid(bytes: Buffer, body: number, serverId: number): TransactionStart {
  const number = bytes.readBigUInt64LE(body);
  const domain = bytes.readUInt32LE(body + 8);
  const flags = bytes[body + 12]!;
  return {
    gtid: { prefix: `${domain}-${serverId}-`, number },
    originalCommitUs: null,
    isStandalone: (flags & 1) === 1,
  };
}

/**
 * GTID_TAGGED of MySQL 8.3: fields with their ids in ascending order. 0 flags, 1 UUID (16 numbers), 2 number (signed), 3 tag, 4 and 5 logical clock
 * (signed), 6 commit time, 7 original commit time. Ids and lengths are numbers in the same form.
 */
export function readTaggedGtid(bytes: Buffer, body: number, end: number): TransactionStart {
  const reader = new ByteReader(bytes, body, end);
  serialNumber(reader); // version
  const size = Number(serialNumber(reader));
  serialNumber(reader); // last field that must be known
  const last = Math.min(body + size, end);
  const uuid = Buffer.alloc(16);
  let number = 0n;
  let tag = '';
  let immediate: bigint | null = null;
  let original: bigint | null = null;
  while (reader.position < last) {
    const field = Number(serialNumber(reader));
    if (field === 1) for (let i = 0; i < 16; i++) uuid[i] = Number(serialNumber(reader));
    else if (field === 2) number = signed(serialNumber(reader));
    else if (field === 3) tag = reader.text(Number(serialNumber(reader)));
    else if (field === 6) immediate = serialNumber(reader);
    else if (field === 7) original = serialNumber(reader);
    else if (field < 6) serialNumber(reader);
    else break;
  }
  const prefix = tag === '' ? `${uuidText(uuid)}:` : `${uuidText(uuid)}:${tag}:`;
  return { gtid: { prefix, number }, originalCommitUs: original ?? immediate, isStandalone: false };
}

const signed = (value: bigint): bigint => ((value & 1n) === 0n ? value >> 1n : -(value >> 1n) - 1n);

/** As many further bytes as the first one has low bits set; the bits above them are the lowest of the number. */
function serialNumber(reader: ByteReader): bigint {
  const first = reader.uint(1);
  let further = 0;
  while (further < 8 && ((first >> further) & 1) === 1) further++;
  if (further === 8) return reader.uint64();
  let rest = 0n;
  for (let i = 0; i < further; i++) rest |= BigInt(reader.uint(1)) << BigInt(8 * i);
  return BigInt(first >> (further + 1)) | (rest << BigInt(7 - further));
}
