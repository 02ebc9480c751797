/** One connection that reads the log as a replica: makes itself known, asks from a position, notices a server that is gone without a word. */
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { ConnectError } from '../../../runtime/api/index.ts';
import type { RawStream } from '../../shared/rawStream.ts';
import type { SourceSettings } from '../config.ts';
import { dumpFrom, dumpMissing, registerReplica } from '../protocol/dumpCommands.ts';
import { MysqlGtidSet } from '../protocol/gtid.ts';
import { commandPacket, PacketReader } from '../protocol/packetReader.ts';
import { connect } from './connection.ts';
import type { LogPosition } from './position.ts';
import { takeStream } from './rawConnection.ts';
import { freeServerId } from './server.ts';
import { streamError } from './streamError.ts';

const ANSWER_TIMEOUT_MS = 30_000;
const QUIT = commandPacket(0x01);
const EMPTY = Buffer.alloc(0);

export class BinlogSession {
  readonly hasChecksum: boolean;
  private readonly stream: RawStream;
  private readonly timer: NodeJS.Timeout;

  private constructor(stream: RawStream, silenceMs: number, hasChecksum: boolean) {
    this.stream = stream;
    this.hasChecksum = hasChecksum;
    this.timer = setInterval(() => this.checkSilence(silenceMs), silenceMs / 3);
    this.timer.unref();
  }

  /** `uuid`, the same for all sessions of one reader, lets the server end one that it still takes for alive. */
  static async open(
    settings: SourceSettings,
    position: LogPosition,
    uuid: string,
    signal: AbortSignal,
  ): Promise<BinlogSession> {
    const connection = await connect(settings, { isRaw: true });
    try {
      const hasChecksum = await prepare(connection, settings, position, uuid);
      const serverId = settings.serverId ?? (await freeServerId(connection));
      const { stream } = takeStream(connection, true);
      const session = new BinlogSession(stream, settings.silenceMs, hasChecksum);
      stream.write(registerReplica(serverId, 'millrace'));
      await session.expectOk(signal);
      const { gtids } = position;
      const isMariaDb = settings.connector === 'mariadb';
      const command =
        gtids !== null && !isMariaDb
          ? dumpMissing(MysqlGtidSet.parse(gtids), serverId)
          : dumpFrom(
              gtids === null ? position.file : '',
              gtids === null ? position.position : 4,
              serverId,
              isMariaDb && settings.includeQuery,
            );
      stream.write(command);
      return session;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  private async expectOk(signal: AbortSignal): Promise<void> {
    const packet = new PacketReader();
    let bytes: Buffer = EMPTY;
    while (!packet.read(bytes, 0)) {
      const more = await this.stream.read(bytes, packet.missing, ANSWER_TIMEOUT_MS, 0, signal);
      if (more === null) throw new ConnectError('MYSQL_UNREACHABLE', 'the server does not answer', { retriable: true });
      bytes = more;
    }
    if (bytes[packet.start] !== 0) throw streamError(bytes, packet.start, packet.end);
  }

  read(rest: Buffer, wanted: number, timeoutMs: number, gatherMs: number, signal: AbortSignal): Promise<Buffer | null> {
    return this.stream.read(rest, wanted, timeoutMs, gatherMs, signal);
  }

  private checkSilence(silenceMs: number): void {
    const { silentMs } = this.stream;
    if (silentMs <= silenceMs) return;
    this.stream.fail(
      new ConnectError('MYSQL_UNREACHABLE', `the server has been silent for ${silentMs} ms`, { retriable: true }),
    );
  }

  close(): void {
    clearInterval(this.timer);
    this.stream.end(QUIT);
  }
}

/** Session settings of a replica; returns whether events will have checksums. */
async function prepare(
  connection: Connection,
  settings: SourceSettings,
  position: LogPosition,
  uuid: string,
): Promise<boolean> {
  const [rows] = await connection.query<RowDataPacket[]>('SELECT @@global.binlog_checksum AS checksum');
  const checksum = String(rows[0]!.checksum).toUpperCase();
  if (checksum !== 'NONE' && checksum !== 'CRC32') {
    throw new ConnectError('MYSQL_SETTING_INVALID', `binlog_checksum is ${checksum}; CRC32 and NONE are known.`);
  }
  const periodNs = `${Math.floor(settings.silenceMs / 3)}000000`;
  const variables: Record<string, string> = {
    master_binlog_checksum: `'${checksum}'`,
    source_binlog_checksum: `'${checksum}'`,
    master_heartbeat_period: periodNs,
    source_heartbeat_period: periodNs,
    slave_uuid: `'${uuid}'`,
    replica_uuid: `'${uuid}'`,
  };
  if (settings.connector === 'mariadb') {
    variables.mariadb_slave_capability = '4';
    if (position.gtids !== null) {
      variables.slave_connect_state = `'${position.gtids}'`;
      variables.slave_gtid_strict_mode = '0';
      variables.slave_gtid_ignore_duplicates = '0';
    }
  }
  const list = Object.entries(variables).map(([name, value]) => `@${name} = ${value}`);
  await connection.query(`SET ${list.join(', ')}`);
  return checksum === 'CRC32';
}
