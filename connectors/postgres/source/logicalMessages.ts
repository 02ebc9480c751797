/** pg_logical_emit_message as events: op `m` in a topic of their own, keyed by prefix. */
import { type ConnectRecord, plainBatch, type SourceBatch, type SourcePartition } from '../../../runtime/api/index.ts';
import {
  OPTIONAL_BYTES,
  OPTIONAL_INT64,
  OPTIONAL_STRING,
  optional,
  STRING,
  Struct,
  struct,
} from '../../../schemas/data/index.ts';
import { transactionBlock } from '../../../schemas/envelope/debezium.ts';
import { topicName } from '../../shared/eventNames.ts';
import type { SourceSettings } from '../config.ts';
import { CONNECTOR_NAME, CONNECTOR_VERSION } from '../version.ts';
import { processingTime, SOURCE_SCHEMA } from './envelope.ts';

const NAME = 'io.debezium.connector.postgresql.Message';
const KEY = struct([['prefix', OPTIONAL_STRING]], { name: `${NAME}Key`, version: 1 });
const MESSAGE = struct(
  [
    ['prefix', OPTIONAL_STRING],
    ['content', OPTIONAL_BYTES],
  ],
  { name: NAME, version: 1 },
);
const VALUE = struct(
  [
    ['op', STRING],
    ['ts_ms', OPTIONAL_INT64],
    ['source', SOURCE_SCHEMA],
    ['transaction', optional(transactionBlock)],
    ['message', MESSAGE],
  ],
  { name: `${NAME}Value`, version: 1 },
);

export interface LogicalMessage {
  readonly prefix: string;
  readonly content: Buffer;
  readonly lsn: bigint;
  /** Null outside transactions. */
  readonly txId: bigint | null;
  readonly tsUs: bigint;
  readonly lastCommit: bigint | null;
  /** Its place in the transaction; null outside one, and without transaction metadata. */
  readonly transaction: Struct | null;
}

export class LogicalMessages {
  private readonly settings: SourceSettings;
  private readonly sourcePartition: SourcePartition;
  private readonly topic: string;
  private records: ConnectRecord[] = [];

  constructor(settings: SourceSettings, sourcePartition: SourcePartition) {
    this.settings = settings;
    this.sourcePartition = sourcePartition;
    this.topic = topicName(`${settings.prefix}${settings.topicDelimiter}message`);
  }

  isWanted(prefix: string): boolean {
    return this.settings.messagePrefixes(prefix);
  }

  add(message: LogicalMessage): void {
    const { settings } = this;
    const { lsn, tsUs, lastCommit } = message;
    const source = Struct.of(SOURCE_SCHEMA, {
      version: CONNECTOR_VERSION,
      connector: CONNECTOR_NAME,
      name: settings.prefix,
      ts_ms: tsUs / 1000n,
      snapshot: 'false',
      db: settings.database,
      sequence: `[${lastCommit === null ? 'null' : `"${lastCommit}"`},"${lsn}"]`,
      ts_us: tsUs,
      ts_ns: tsUs * 1000n,
      schema: '',
      table: '',
      txId: message.txId,
      lsn,
    });
    const body = new Struct(MESSAGE, [message.prefix, message.content]);
    this.records.push({
      topic: this.topic,
      partition: null,
      keySchema: KEY,
      key: new Struct(KEY, [message.prefix]),
      valueSchema: VALUE,
      value: new Struct(VALUE, ['m', processingTime()[0], source, message.transaction, body]),
      timestamp: null,
      headers: [],
    });
  }

  take(): SourceBatch[] {
    if (this.records.length === 0) return [];
    const records = this.records;
    this.records = [];
    return [plainBatch({ records, sourcePartition: this.sourcePartition, sourceOffset: null })];
  }
}
