/** The commands of a replica: make itself known, ask for the log from a file and offset, or for what is not in a set of transactions. */
import type { MysqlGtidSet } from './gtid.ts';
import { commandPacket } from './packetReader.ts';

const uint = (value: number, length: 2 | 4): Buffer => {
  const bytes = Buffer.alloc(length);
  bytes.writeUIntLE(value, 0, length);
  return bytes;
};

const text = (value: string): Buffer => {
  const bytes = Buffer.from(value).subarray(0, 255);
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
};

export const registerReplica = (serverId: number, host: string): Buffer =>
  commandPacket(0x15, uint(serverId, 4), text(host), text(''), text(''), uint(0, 2), uint(0, 4), uint(0, 4));

/** MariaDB sends the statements of changes only where the flag 2 asks for them. */
export const dumpFrom = (file: string, position: number, serverId: number, hasStatements: boolean): Buffer =>
  commandPacket(0x12, uint(position, 4), uint(hasStatements ? 2 : 0, 2), uint(serverId, 4), Buffer.from(file));

export function dumpMissing(set: MysqlGtidSet, serverId: number): Buffer {
  const data = set.encode();
  const position = Buffer.alloc(8);
  position.writeBigUInt64LE(4n);
  // Flag 4: the set decides, the file name is empty.
  return commandPacket(0x1e, uint(4, 2), uint(serverId, 4), uint(0, 4), position, uint(data.length, 4), data);
}
