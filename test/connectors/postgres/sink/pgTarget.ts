/** A database of its own on each server that the tests know, dropped at the end. */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import type { SqlTarget } from '../../../contract/sqlTarget.ts';

export const servers: readonly (readonly [string, string])[] = [
  ['PostgreSQL 18', process.env.PG18_URL ?? 'postgres://postgres:postgres@127.0.0.1:15432'],
  ['PostgreSQL 15', process.env.PG15_URL ?? 'postgres://postgres:postgres@127.0.0.1:15433'],
];

export interface PgTarget extends SqlTarget {
  readonly client: Client;
  readonly url: string;
}

export async function openPgTarget(server: string): Promise<PgTarget> {
  const database = `sink_${randomBytes(6).toString('hex')}`;
  const admin = new Client(`${server}/postgres`);
  await admin.connect();
  await admin.query(`create database ${database}`);
  const url = `${server}/${database}`;
  const client = new Client(url);
  await client.connect();
  let names = 0;
  return {
    client,
    url,
    connection: { 'connection.url': url },
    uniqueName: () => `t${++names}`,
    execute: sql => client.query(sql),
    rows: async sql => (await client.query(sql)).rows,
    [Symbol.asyncDispose]: async () => {
      await client.end();
      await admin.query(`drop database ${database} with (force)`);
      await admin.end();
    },
  };
}
