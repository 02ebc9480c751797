/** A database of its own on each server that the tests know, dropped at the end. */
import { randomBytes } from 'node:crypto';
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import type { SqlRow, SqlTarget } from '../../../contract/sqlTarget.ts';

export const servers: readonly (readonly [string, string])[] = [
  ['MySQL 9.7', process.env.MYSQL_URL ?? 'mysql://root@127.0.0.1:13306'],
  ['MariaDB 10.11', process.env.MARIADB_URL ?? 'mysql://root@127.0.0.1:13307'],
];

export interface MysqlTarget extends SqlTarget {
  readonly client: Connection;
  readonly url: string;
  readonly database: string;
  rows(sql: string, values?: readonly unknown[]): Promise<SqlRow[]>;
}

export const connect = (uri: string): Promise<Connection> =>
  createConnection({
    uri,
    multipleStatements: true,
    dateStrings: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    charset: 'utf8mb4',
    jsonStrings: true,
  });

export async function openMysqlTarget(server: string): Promise<MysqlTarget> {
  const database = `sink_${randomBytes(6).toString('hex')}`;
  const admin = await connect(server);
  await admin.query(`create database ${database} character set utf8mb4`);
  const url = `${server}/${database}`;
  const client = await connect(url);
  await client.query("set session time_zone = '+00:00'");
  let names = 0;
  return {
    client,
    url,
    database,
    connection: { 'connection.url': url },
    uniqueName: () => `t${++names}`,
    execute: sql => client.query(sql),
    rows: async (sql, values = []) => (await client.query<RowDataPacket[]>(sql, [...values]))[0].map(r => ({ ...r })),
    [Symbol.asyncDispose]: async () => {
      await client.end();
      await admin.query(`drop database ${database}`);
      await admin.end();
    },
  };
}
