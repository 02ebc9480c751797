/**
 * schema.history.internal.kafka.topic: the statements that defined the tables, in order, so that rows of a log without names of columns can be read as of their
 * moment. Records are Debezium's, and Debezium's are read too. They go out with the changes, before any offset behind them; at a start those up to the offset
 * are applied to the model. Used only where the server does not write binlog_row_metadata=FULL.
 */
import { ConnectError, type ConnectRecord, type Logger, type SourceTaskContext } from '../../../runtime/api/index.ts';
import { STRING } from '../../../schemas/data/index.ts';
import { parseStatement } from '../ddl/parseStatement.ts';
import type { SchemaModel } from '../ddl/schemaModel.ts';
import { parseGtidSet } from '../protocol/gtid.ts';
import { isBehind, type LogPosition } from './position.ts';

const WAIT_MS = 60_000;

export interface HistoryEntry {
  readonly ddl: string;
  readonly database: string;
  readonly file: string;
  readonly position: number;
  readonly gtid: string | null;
  /** Of a snapshot: what came before does not count. */
  readonly isSnapshot: boolean;
}

export class SchemaHistory {
  private readonly topic: string;
  private readonly prefix: string;

  constructor(topic: string, prefix: string) {
    this.topic = topic;
    this.prefix = prefix;
  }

  /** Makes the topic where it is missing: kept for ever, in the order in which it was written. */
  async create({ createTopic }: SourceTaskContext): Promise<void> {
    await createTopic?.(this.topic, { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' });
  }

  record({ ddl, database, file, position, gtid, isSnapshot }: HistoryEntry): ConnectRecord {
    const value = JSON.stringify({
      source: { server: this.prefix },
      position: { file, pos: position, ...(gtid !== null && { gtid }), ...(isSnapshot && { snapshot: true }) },
      ts_ms: Date.now(),
      databaseName: database,
      schemaName: null,
      ddl,
      tableChanges: [],
    });
    return {
      topic: this.topic,
      partition: 0,
      keySchema: null,
      key: null,
      valueSchema: STRING,
      value,
      timestamp: null,
      headers: [],
    };
  }

  /** Applies what the topic has up to the position. Throws MYSQL_SCHEMA_HISTORY where it has nothing. */
  async recover(
    context: SourceTaskContext,
    model: SchemaModel,
    position: LogPosition,
    isMariaDb: boolean,
  ): Promise<void> {
    const executed = position.gtids === null ? null : parseGtidSet(position.gtids, isMariaDb);
    const isDone = ({ file, position: at, gtid }: HistoryEntry): boolean => {
      if (gtid === null || executed === null) return isBehind({ file, position: at }, position);
      const end = gtid.lastIndexOf(isMariaDb ? '-' : ':') + 1;
      return executed.has({ prefix: gtid.slice(0, end), number: BigInt(gtid.slice(end)) }) || gtid === position.gtid;
    };
    let last: HistoryEntry | null = null;
    const seen = new Set<string>();
    let count = 0;
    for (const entry of await this.entries(context)) {
      const { isSnapshot, gtid } = entry;
      // Statements that were read again after a restart are there twice.
      const isAgain = gtid !== null ? seen.has(gtid) : last !== null && !isBehind(last, entry);
      if (!isSnapshot && (isAgain || !isDone(entry))) continue;
      if (gtid !== null) seen.add(gtid);
      last = entry;
      count++;
      apply(model, entry, context.logger);
    }
    if (count === 0) {
      throw new ConnectError(
        'MYSQL_SCHEMA_HISTORY',
        `The topic ${this.topic} has no history of the tables up to ${position.file}:${position.position}. Set binlog_row_metadata=FULL on the server, or reset the offsets of the connector to take a new snapshot; keep the topic with retention.ms=-1.`,
      );
    }
    context.logger.info({ topic: this.topic, statements: count }, 'the history of the tables is read');
  }

  private async entries(context: SourceTaskContext): Promise<readonly HistoryEntry[]> {
    const { followTopic, signal } = context;
    if (followTopic === undefined) {
      throw new ConnectError('MYSQL_SCHEMA_HISTORY', 'There is no broker to read the history of the tables from.');
    }
    const atEnd = await followTopic(this.topic, 'end');
    const end = atEnd.position;
    await atEnd.close();
    const topic = await followTopic(this.topic, 0);
    const entries: HistoryEntry[] = [];
    const deadline = Date.now() + WAIT_MS;
    try {
      while (topic.position < end) {
        signal.throwIfAborted();
        if (Date.now() > deadline) {
          throw new ConnectError('MYSQL_SCHEMA_HISTORY', `The topic ${this.topic} could not be read to its end.`, {
            retriable: true,
          });
        }
        for (const { value } of await topic.poll()) {
          const entry = value === null ? null : readEntry(value, this.prefix);
          if (entry !== null) entries.push(entry);
        }
        await new Promise(resolve => setTimeout(resolve, 5));
      }
    } finally {
      await topic.close();
    }
    return entries;
  }
}

function apply(model: SchemaModel, { ddl, database }: HistoryEntry, logger: Logger): void {
  try {
    const statement = parseStatement(ddl, database);
    if (statement !== null) model.apply(statement);
  } catch (error) {
    logger.warn(
      { statement: ddl.slice(0, 500), reason: (error as Error).message },
      'a statement of the history could not be read',
    );
  }
}

/** Null for what is no record of this connector. The text may be wrapped by whatever converter wrote it. */
export function readEntry(text: string, prefix: string): HistoryEntry | null {
  const record = objectIn(text);
  if (record === null || typeof record.ddl !== 'string') return null;
  const { source, position } = record as { source?: Record<string, unknown>; position?: Record<string, unknown> };
  if (source?.server !== prefix || typeof position?.file !== 'string') return null;
  const { gtid } = position;
  return {
    ddl: record.ddl,
    database: String(record.databaseName ?? ''),
    file: position.file,
    position: Number(position.pos ?? 0),
    gtid: typeof gtid === 'string' ? gtid : null,
    isSnapshot: position.snapshot === true || typeof position.snapshot === 'string',
  };
}

function objectIn(text: string): Record<string, unknown> | null {
  let value = parsed(text);
  // Avro has some bytes in front.
  if (value === undefined) value = parsed(text.slice(Math.max(0, text.indexOf('{"source":'))));
  if (isObject(value) && typeof value.payload === 'string') value = parsed(value.payload);
  if (typeof value === 'string') value = parsed(value);
  return isObject(value) ? value : null;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
