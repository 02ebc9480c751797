/** The rows of one database in a part of the log, as our stream gives them and as zongji, another reader of the log, does: in forms that a text compares. */
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { parseSettings } from '../../../connectors/mysql/config.ts';
import { ChangeStream } from '../../../connectors/mysql/source/changeStream.ts';
import { TableVersions } from '../../../connectors/mysql/source/tableVersions.ts';
import { Decimal } from '../../../schemas/data/index.ts';
import { plain } from './mysqlHarness.ts';

export interface LogPart {
  readonly url: string;
  readonly database: string;
  readonly file: string;
  readonly position: number;
  /** The row with this id, when it is inserted, is the last. */
  readonly lastId: number;
}

type Row = Readonly<Record<string, unknown>>;
export type TakeRow = (op: string, before: Row | null, after: Row | null) => void;

/** Columns of `everyType.ts` that both readers give in forms that a text compares. */
// biome-ignore format: a list of names
const COMPARED = ['t', 'tu', 's', 'su', 'm', 'mu', 'i', 'iu', 'b', 'bu', 'f', 'd', 'dc', 'dl', 'c', 'v', 'l1', 'u2', 'tx', 'e', 'st', 'vb', 'bl'];

const text = (value: unknown): string => {
  if (value === null || value === undefined) return 'null';
  if (value instanceof Decimal) return value.toString();
  return Buffer.isBuffer(value) ? value.toString('hex') : String(value);
};

const rowText = (row: Row | null): string =>
  row === null ? '-' : ['id', ...COMPARED].map(name => `${name}=${text(row[name])}`).join(' ');

export const eventText = (op: string, before: Row | null, after: Row | null): string =>
  `${op}\n${rowText(before)}\n${rowText(after)}`;

/** A digest for each so many rows, so that a difference among a million of them is found by its place. */
export class RowDigests {
  readonly digests: string[] = [];
  count = 0;
  readonly #rows: number;
  #hash = createHash('sha1');

  constructor(rowsPerDigest: number) {
    this.#rows = rowsPerDigest;
  }

  take: TakeRow = (...event) => {
    this.#hash.update(eventText(...event));
    if (++this.count % this.#rows === 0) this.end();
  };

  end(): void {
    this.digests.push(this.#hash.digest('hex'));
    this.#hash = createHash('sha1');
  }
}

export async function readByMillrace({ url, database, file, position, lastId }: LogPart, take: TakeRow): Promise<void> {
  const { hostname, port, username } = new URL(url);
  const { settings, errors } = parseSettings(
    {
      'database.hostname': hostname,
      'database.port': port,
      'database.user': username,
      'database.include.list': database,
      'topic.prefix': 'oracle',
      'tombstones.on.delete': 'false',
      'bigint.unsigned.handling.mode': 'precise',
    },
    'mysql',
  );
  if (settings === null) throw new Error(errors.map(({ message }) => message).join('\n'));
  const stream = new ChangeStream(
    {
      settings,
      common: { sourcePartition: { server: 'oracle' }, headers: [] },
      logger: { error: console.error, warn: console.error, info() {}, debug() {} },
      signal: new AbortController().signal,
      versions: new TableVersions(settings),
      schemaChanges: null,
    },
    { file, position, gtids: null, events: 0, rows: 0, gtid: null, serverId: 0, seconds: 0 },
  );
  try {
    for (let isDone = false; !isDone; ) {
      for (const batch of await stream.next(1000)) {
        for (let i = 0; i < batch.count; i++) {
          const event = plain(batch.record(i).value) as { op: string; before: Row | null; after: Row | null };
          take(event.op, event.before, event.after);
          isDone ||= event.op === 'c' && event.after?.id === lastId;
        }
      }
    }
  } finally {
    await stream.close();
  }
}

interface ZongjiEvent {
  getEventName(): string;
  tableId: number;
  tableMap: Record<number, { tableName: string; parentSchema: string }>;
  rows: readonly (Record<string, unknown> & { before?: Row; after?: Row })[];
}
interface Zongji {
  on(event: string, f: (event: ZongjiEvent) => void): void;
  start(options: object): Promise<void> | void;
  stop(): Promise<void> | void;
}

export async function readByZongji({ url, database, file, position, lastId }: LogPart, take: TakeRow): Promise<void> {
  const module = (await import(createRequire(import.meta.url).resolve('@vlasky/zongji'))) as {
    default: new (options: object) => Zongji;
  };
  const { hostname, port, username } = new URL(url);
  const zongji = new module.default({ host: hostname, port: Number(port), user: username, dateStrings: true });
  await new Promise<void>((resolve, reject) => {
    zongji.on('error', reject as never);
    zongji.on('binlog', event => {
      const name = event.getEventName();
      if (!/rows$/.test(name) || event.tableMap[event.tableId]?.parentSchema !== database) return;
      for (const row of event.rows) {
        if (name === 'writerows') take('c', null, row);
        else if (name === 'deleterows') take('d', row, null);
        else take('u', row.before!, row.after!);
        if (name === 'writerows' && row.id === lastId) resolve();
      }
    });
    void zongji.start({
      serverId: 4_000_000 + Math.floor(Math.random() * 1e6),
      filename: file,
      position,
      includeEvents: ['rotate', 'tablemap', 'writerows', 'updaterows', 'deleterows'],
      includeSchema: { [database]: true },
    });
  });
  await zongji.stop();
}
