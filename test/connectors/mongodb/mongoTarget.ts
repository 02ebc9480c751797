/** A database of its own on the server that the tests know, dropped at the end. `MONGODB_URL` names another server, such as a real mongod. */
import { randomBytes } from 'node:crypto';
import { Binary, type Db, Decimal128, type Document, Double, Int32, Long, MongoClient, ObjectId } from 'mongodb';
import { sinkPlugin } from '../../../connectors/mongodb/index.ts';
import type { Config } from '../../../runtime/api/index.ts';
import type { Schema } from '../../../schemas/data/index.ts';
import { plainSinkBatch, type TestRecord } from '../../contract/sinkBatches.ts';
import { keySchema, rowSchema } from '../../contract/sinkContract.ts';
import { type SinkRun, startSink } from '../../contract/sinkHarness.ts';

export const serverUrl = process.env.MONGODB_URL ?? 'mongodb://127.0.0.1:17017/';

export interface MongoTarget extends AsyncDisposable {
  readonly client: MongoClient;
  readonly db: Db;
  /** Connection keys; ids are those of record keys, and deletes are applied. */
  readonly connection: Config;
  uniqueName(): string;
  /** By `_id` as text, in plain values. */
  documents(collection: string): Promise<Map<string, Document>>;
}

export async function openMongoTarget(): Promise<MongoTarget> {
  const client = new MongoClient(serverUrl, { serverSelectionTimeoutMS: 5000 });
  await client.connect();
  const db = client.db(`sink_${randomBytes(6).toString('hex')}`);
  let names = 0;
  return {
    client,
    db,
    connection: { 'connection.uri': serverUrl, database: db.databaseName, 'delete.on.null.values': 'true' },
    uniqueName: () => `c${++names}`,
    documents: async collection => {
      const found = await db.collection(collection).find({}, { promoteValues: false, promoteLongs: false }).toArray();
      return new Map(
        found.map(({ _id, ...fields }) => {
          const id = plainOf(_id);
          return [
            typeof id === 'object' ? JSON.stringify(id, (_, each) => plainNumber(each)) : String(id),
            plainOf(fields) as Document,
          ] as const;
        }),
      );
    },
    [Symbol.asyncDispose]: async () => {
      await db.dropDatabase();
      await client.close();
    },
  };
}

export interface SideSchemas {
  readonly keySchema?: Schema | null;
  readonly valueSchema?: Schema | null;
}

/** A task, and the collection that is named after its topic. */
export interface OpenSink extends AsyncDisposable {
  readonly name: string;
  readonly run: SinkRun;
  /** Records with keys and rows of the contract, unless `schemas` says something else. */
  deliver(records: readonly TestRecord[], schemas?: SideSchemas): Promise<void>;
  documents(): Promise<Record<string, Document>>;
}

export async function openSink(
  target: MongoTarget,
  config: Config = {},
  options: { tolerate?: boolean } = {},
): Promise<OpenSink> {
  const name = target.uniqueName();
  const run = await startSink(sinkPlugin.createTask(), { ...target.connection, ...config }, options);
  let firstOffset = 0;
  return {
    name,
    run,
    deliver: async (records, schemas = {}) => {
      const of = { topic: name, firstOffset, keySchema, valueSchema: rowSchema, ...schemas };
      firstOffset += records.length;
      await run.deliver(plainSinkBatch(of, records));
    },
    documents: async () => Object.fromEntries(await target.documents(name)),
    [Symbol.asyncDispose]: () => run[Symbol.asyncDispose](),
  };
}

const plainNumber = (value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value);

/** BSON values by kind: int32 number, int64 bigint, double `{ double }`, decimal and UUID text, binary a Buffer. */
export function plainOf(value: unknown): unknown {
  if (value instanceof Int32) return value.value;
  if (value instanceof Long) return value.toBigInt();
  if (value instanceof Double) return { double: value.value };
  if (value instanceof Decimal128) return value.toString();
  if (value instanceof ObjectId) return value.toHexString();
  if (value instanceof Binary)
    return value.sub_type === Binary.SUBTYPE_UUID ? value.toUUID().toString() : Buffer.from(value.buffer);
  if (Array.isArray(value)) return value.map(plainOf);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plainOf(each)]));
}
