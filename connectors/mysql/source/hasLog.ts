/** Whether the server still has the log that a stored position needs, so that a start need not find out by the stream. */
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { MariaGtidList, MysqlGtidSet } from '../protocol/gtid.ts';
import type { LogPosition } from './position.ts';
import { mariaGtidAt } from './server.ts';

/** Where the events of a log file begin. */
const FIRST_EVENT = 4;

export async function hasLog(connection: Connection, position: LogPosition, isMariaDb: boolean): Promise<boolean> {
  const { file, position: at, gtids } = position;
  if (gtids !== null && !isMariaDb) return await hasMysqlGtids(connection, gtids);
  const [logs] = await connection.query<RowDataPacket[]>('SHOW BINARY LOGS');
  if (gtids !== null) return await hasMariaGtids(connection, gtids, String(logs[0]?.Log_name));
  return logs.some(log => log.Log_name === file && Number(log.File_size) >= at);
}

/** What was removed must be in the position, and what is in the position must be the server's. */
async function hasMysqlGtids(connection: Connection, gtids: string): Promise<boolean> {
  const [rows] = await connection.query<RowDataPacket[]>(
    'SELECT GTID_SUBSET(@@global.gtid_purged, ?) AS has, GTID_SUBSET(?, @@global.gtid_executed) AS known',
    [MysqlGtidSet.parse(gtids).toString(), gtids],
  );
  return Number(rows[0]!.has) === 1 && Number(rows[0]!.known) === 1;
}

async function hasMariaGtids(connection: Connection, gtids: string, oldest: string): Promise<boolean> {
  const removed = await mariaGtidAt(connection, oldest, FIRST_EVENT);
  if (removed === null) return false;
  const [rows] = await connection.query<RowDataPacket[]>('SELECT @@global.gtid_binlog_pos AS gtids');
  const position = MariaGtidList.parse(gtids);
  const logged = MariaGtidList.parse(String(rows[0]!.gtids));
  return position.includes(MariaGtidList.parse(removed)) && logged.includes(position);
}
