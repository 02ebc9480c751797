/** What is damaged on its way, or of no known kind, stops the walk with its position. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSettings } from '../../../connectors/mysql/config.ts';
import { checksum } from '../../../connectors/mysql/protocol/checksum.ts';
import { EVENT_HEADER_BYTES, EventType } from '../../../connectors/mysql/protocol/eventTypes.ts';
import { BinlogDecoder } from '../../../connectors/mysql/source/binlogDecoder.ts';
import { at } from '../../../connectors/mysql/source/server.ts';
import { ConnectError } from '../../../runtime/api/index.ts';

const START = 1000;
const FILE = 'binlog.000007';

const { settings } = parseSettings({ 'database.hostname': 'h', 'database.user': 'u', 'topic.prefix': 'p' }, 'mysql');

/** An event at START with its checksum, as a packet. */
function packet(type: number, body: Buffer, flags = 0): Buffer {
  const length = EVENT_HEADER_BYTES + body.length + 4;
  const event = Buffer.alloc(length);
  event[4] = type;
  event.writeUInt32LE(1, 5);
  event.writeUInt32LE(length, 9);
  event.writeUInt32LE(START + length, 13);
  event.writeUInt16LE(flags, 17);
  body.copy(event, EVENT_HEADER_BYTES);
  event.writeUInt32LE(checksum(event, 0, length - 4), length - 4);
  const head = Buffer.alloc(5);
  head.writeUIntLE(length + 1, 0, 3);
  return Buffer.concat([head, event]);
}

const walk = (bytes: Buffer) => {
  const decoder = new BinlogDecoder(
    {
      settings: settings!,
      common: { sourcePartition: { server: 'p' }, headers: [] },
      isCaptured: () => true,
      hasChecksum: true,
      readsDefinitions: false,
      logger: { error() {}, warn() {}, info() {}, debug() {} },
    },
    at(FILE, START, null),
  );
  return decoder.walk(bytes, 0);
};

function failsAt(bytes: Buffer, code: string): void {
  assert.throws(
    () => walk(bytes),
    (error: unknown) => {
      assert.ok(error instanceof ConnectError, String(error));
      assert.equal(error.code, code);
      assert.match(error.describe(), new RegExp(`${FILE}:${START}`));
      return true;
    },
  );
}

const xid = packet(EventType.xid, Buffer.alloc(8, 1));
const UNKNOWN = 199;
const MAY_BE_IGNORED = 0x80;

test('a whole event is walked through', () => {
  assert.deepEqual(walk(xid), { next: xid.length, stop: 'end' });
});

test('a byte that is not the one that was sent, wherever it is', () => {
  for (const place of [5 + 19, xid.length - 5, xid.length - 1]) {
    const bytes = Buffer.from(xid);
    bytes[place]! ^= 1;
    failsAt(bytes, 'MYSQL_EVENT_DAMAGED');
  }
});

test('an event whose length is not that of its packet', () => {
  const bytes = Buffer.concat([xid, Buffer.from([0])]);
  bytes.writeUIntLE(bytes.length - 4, 0, 3);
  assert.throws(() => walk(bytes), { code: 'MYSQL_EVENT_DAMAGED' });
});

test('an event that ends before its fields do', () => {
  failsAt(packet(EventType.tableMap, Buffer.from([1, 0, 0, 0, 0, 0, 1, 0, 3, 0x61])), 'MYSQL_EVENT_DAMAGED');
  failsAt(packet(EventType.gtid, Buffer.alloc(5)), 'MYSQL_EVENT_DAMAGED');
});

test('an event of an unknown type, unless it says that a reader may ignore it', () => {
  failsAt(packet(UNKNOWN, Buffer.alloc(3)), 'MYSQL_EVENT_UNSUPPORTED');
  const ignorable = packet(UNKNOWN, Buffer.alloc(3), MAY_BE_IGNORED);
  assert.equal(walk(ignorable).next, ignorable.length);
});

test('rows of a table that no event describes, and changes that the server lost', () => {
  failsAt(packet(EventType.writeRows, Buffer.alloc(16, 1)), 'MYSQL_EVENT_DAMAGED');
  failsAt(packet(EventType.incident, Buffer.alloc(4)), 'MYSQL_EVENT_UNSUPPORTED');
});
