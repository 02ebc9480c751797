/**
 * Rows under a new key, with the TOASTed values that the stream leaves out because the update did not change them: a consumer has no row of that key to
 * keep them from. They are read from the table, which may be ahead of the stream; then later events of the key follow, and set things right.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { ConnectError, type Logger } from '../../../runtime/api/index.ts';
import { quoteName, sqlState } from './connection.ts';
import type { TableVersion } from './tableVersion.ts';
import { columnOf, columnSlices, isNull, isUnchanged, NULL_VALUE, parameterOf, tupleOf, unchangedOf } from './tuple.ts';

const VISIBILITY_WAIT_MS = 20;
const VISIBILITY_WARN_MS = 5000;

/** A tuple that lacks values, and the columns that identify its row. */
export interface IncompleteRow {
  readonly version: TableVersion;
  readonly tuple: Buffer;
  readonly identity: readonly number[];
  readonly txId: bigint;
}

/** The columns of an old tuple that carries its replica identity only: none of them can be null. */
export const identityColumns = (oldTuple: Buffer): number[] =>
  columnSlices(oldTuple).flatMap((slice, i) => (isNull(slice) ? [] : [i]));

/** Whether a value that is published is missing. */
export const isIncomplete = (version: TableVersion, tuple: Buffer): boolean =>
  unchangedOf(tuple).some(i => version.rowColumns[i]!.isPublished);

/** The complete tuples, in order. What is not there any more is null. */
export async function readMissing(
  client: pg.Client,
  rows: readonly IncompleteRow[],
  logger: Logger,
  signal: AbortSignal,
): Promise<Buffer[]> {
  await waitUntilVisible(client, new Set(rows.map(row => Number(row.txId))), logger, signal);
  const groups = new Map<TableVersion, number[]>();
  for (const [i, { version }] of rows.entries()) {
    const group = groups.get(version);
    if (group === undefined) groups.set(version, [i]);
    else group.push(i);
  }
  const tuples: Buffer[] = new Array(rows.length);
  for (const [version, indexes] of groups) {
    const found = await readRows(
      client,
      version,
      indexes.map(i => rows[i]!),
    );
    for (const [n, i] of indexes.entries()) tuples[i] = complete(rows[i]!, found.get(n));
  }
  return tuples;
}

function complete({ tuple, version }: IncompleteRow, found: ReadonlyMap<number, Buffer> | undefined): Buffer {
  const slices = columnSlices(tuple).map((slice, i) =>
    isUnchanged(slice) && version.rowColumns[i]!.isPublished ? (found?.get(i) ?? NULL_VALUE) : slice,
  );
  return tupleOf(slices);
}

/**
 * The server sends a commit as soon as it is in the log; others see its rows a moment later, with synchronous replication as late as the standby
 * answers. Only then is a row that is not found really gone. Transaction ids of the stream have 32 bits.
 */
async function waitUntilVisible(
  client: pg.Client,
  txIds: ReadonlySet<number>,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  const start = performance.now();
  let isWarned = false;
  for (;;) {
    const { rows } = await client.query(
      'SELECT pg_snapshot_xmax(s)::text AS next, array(SELECT pg_snapshot_xip(s)::text) AS running FROM pg_current_snapshot() AS s',
    );
    const next = Number(BigInt.asUintN(32, BigInt(rows[0].next)));
    const running = new Set(rows[0].running.map((id: string) => Number(BigInt.asUintN(32, BigInt(id)))));
    if ([...txIds].every(id => ((id - next) | 0) < 0 && !running.has(id))) return;
    if (!isWarned && performance.now() - start > VISIBILITY_WARN_MS) {
      isWarned = true;
      logger.warn(
        {},
        'waiting for a transaction that is committed and not visible yet: does a synchronous standby lag?',
      );
    }
    await delay(VISIBILITY_WAIT_MS, undefined, { signal });
  }
}

/** Values by column, by index into `rows`. */
async function readRows(
  client: pg.Client,
  version: TableVersion,
  rows: readonly IncompleteRow[],
): Promise<Map<number, Map<number, Buffer>>> {
  const found = new Map<number, Map<number, Buffer>>();
  const { identity } = rows[0]!;
  const table = await describe(client, version);
  const wanted = [...new Set(rows.flatMap(row => unchangedOf(row.tuple)))].filter(
    i => version.rowColumns[i]!.isPublished && table?.hasColumn(i),
  );
  if (table === null || wanted.length === 0 || !identity.every(table.hasColumn)) return found;

  const parameters: (string | Buffer)[] = [];
  const keys = rows.map(({ tuple }, n) => {
    const slices = columnSlices(tuple);
    const values = identity.map(i => `$${parameters.push(parameterOf(slices[i]!))}::${table.typeName(i)}`);
    return `(${[n, ...values].join(', ')})`;
  });
  const names = identity.map((_, n) => `k${n}`);
  const text = `SELECT k.n::text, ${wanted.map((i, n) => `${table.expression(i)} AS v${n}`).join(', ')}
    FROM (VALUES ${keys.join(', ')}) AS k(n, ${names.join(', ')})
    JOIN ${table.name} AS t ON ${identity.map((i, n) => `t.${table.columnName(i)} = k.k${n}`).join(' AND ')}`;
  try {
    // Every value as the server's text.
    const types = { getTypeParser: () => (raw: unknown) => raw };
    const result = await client.query<(string | null)[]>({ text, values: parameters, rowMode: 'array', types });
    for (const [n, ...values] of result.rows) {
      const columns = wanted.map((i, at): [number, Buffer] => [i, columnOf(values[at]!, table.isBinary(i))]);
      found.set(Number(n), new Map(columns));
    }
    return found;
  } catch (error) {
    if (sqlState(error) !== '42501') throw error;
    throw new ConnectError(
      'PG_TABLE_DENIED',
      `Values of a row whose key was changed have to be read from ${version.fullName}: ${(error as Error).message}. Grant SELECT on the table.`,
      { cause: error, place: { table: version.fullName } },
    );
  }
}

interface TableOfNow {
  readonly name: string;
  readonly hasColumn: (index: number) => boolean;
  readonly columnName: (index: number) => string;
  readonly typeName: (index: number) => string;
  readonly isBinary: (index: number) => boolean;
  /** Gives the column in the form that the stream has it in. */
  readonly expression: (index: number) => string;
}

/** Null = dropped. `format_type` with -1: without a modifier, which would cut values. */
async function describe(client: pg.Client, version: TableVersion): Promise<TableOfNow | null> {
  const tables = await client.query(
    `SELECT c.oid::regclass::text AS name, c.relkind AS kind FROM pg_class c WHERE c.oid = ${version.oid}`,
  );
  const table = tables.rows[0];
  if (table === undefined) return null;
  const columns = await client.query(
    `SELECT attname AS name, atttypid::int8::text AS type FROM pg_attribute WHERE attrelid = ${version.oid} AND attnum > 0 AND NOT attisdropped`,
  );
  const types = await client.query(
    `SELECT oid::int8::text AS oid, format_type(oid, -1) AS name, CASE WHEN typsend <> 0 THEN typsend::regproc::text END AS send
       FROM pg_type WHERE oid = ANY ('{${version.rowColumns.map(column => column.typeOid).join(',')}}'::oid[])`,
  );
  const typeOfColumn = new Map<string, number>(columns.rows.map(row => [row.name, Number(row.type)]));
  const typeOf = new Map<number, { name: string; send: string | null }>(types.rows.map(row => [Number(row.oid), row]));
  const column = (index: number) => version.rowColumns[index]!;
  const isBinary = (index: number): boolean =>
    version.form === 'binary' && typeOf.get(column(index).typeOid)!.send !== null;
  return {
    name: `${table.kind === 'p' ? '' : 'ONLY '}${table.name}`,
    hasColumn: index => typeOfColumn.has(column(index).name) && typeOf.has(column(index).typeOid),
    columnName: index => quoteName(column(index).name),
    typeName: index => typeOf.get(column(index).typeOid)!.name,
    isBinary,
    expression: index => {
      const { name, typeOid } = column(index);
      const type = typeOf.get(typeOid)!;
      const plain = typeOfColumn.get(name) === typeOid ? `t.${quoteName(name)}` : `t.${quoteName(name)}::${type.name}`;
      return isBinary(index) ? `${type.send}(${plain})` : plain;
    },
  };
}
