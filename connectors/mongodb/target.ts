/** MongoDB as a target of the task of document sinks. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type CreateCollectionOptions, type Document, type MongoClient, MongoServerError } from 'mongodb';
import { type Config, ConnectError, type SinkTaskContext } from '../../runtime/api/index.ts';
import type { ChangeRun } from '../shared/changeRun.ts';
import type { DocumentPlan, DocumentSinkKind, DocumentTarget } from '../shared/documentSinkTask.ts';
import { BsonValues } from './bsonValues.ts';
import { BulkWriter } from './bulkWriter.ts';
import { checkSinkConfig, TopicList } from './config.ts';
import { type SinkValues, sinkConfigDef } from './configKeys.ts';
import { openClient } from './connection.ts';
import { idValues } from './documentId.ts';
import { type PlanCounts, RecordPlan } from './documentPlan.ts';
import { asSinkError, classifyMongoFailure, reasonOf } from './mongoFailure.ts';
import { namespaceOf } from './namespaces.ts';
import { type Namespace, StatementShapes } from './statements.ts';
import type { TimeSeries, TopicSettings } from './topicSettings.ts';

const DEFAULT_ROWS = 10_000;
const NAMESPACE_EXISTS = 48;

export const mongoSink: DocumentSinkKind = {
  checkConfig: checkSinkConfig,
  target: (config, context) => new MongoTarget(config, context),
};

class MongoTarget implements DocumentTarget {
  readonly needs;
  readonly bounds;
  readonly writers: readonly BulkWriter[];
  readonly maxRetries: number | null;
  readonly retryBackoffMs: number;
  readonly #client: MongoClient;
  readonly #context: SinkTaskContext;
  readonly #topics: TopicList;
  readonly #shapes = new StatementShapes();
  readonly #writers = new Map<TopicSettings, { values: BsonValues; idValues: BsonValues }>();
  readonly #counts: PlanCounts = { ignoredTruncates: 0, otherEvents: 0 };
  /** Collections for time series that are there. */
  readonly #prepared = new Set<Namespace>();

  constructor(config: Config, context: SinkTaskContext) {
    const { values } = sinkConfigDef.parse(config);
    this.#client = openClient(values);
    this.#context = context;
    this.#topics = new TopicList(config);
    this.needs = { key: true, before: this.#topics.needsBefore, sourceFields: [] };
    this.maxRetries = values['max.num.retries'];
    this.retryBackoffMs = values['retries.defer.timeout'];
    this.bounds = {
      maxRows: values['max.batch.size'] || DEFAULT_ROWS,
      maxBytes: values['batch.bytes'],
      lingerMs: values['linger.ms'],
    };
    const isOrdered = values['bulk.write.ordered'];
    const options = {
      client: this.#client,
      shapes: this.#shapes,
      isOrdered,
      limitRate: rateLimiter(values, context.signal),
      context,
    };
    this.writers = Array.from({ length: isOrdered ? 1 : values.connections }, () => new BulkWriter(options));
  }

  async open(): Promise<void> {
    await this.#client.connect();
    await this.#client.db('admin').command({ ping: 1 });
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async plan(run: ChangeRun): Promise<DocumentPlan> {
    this.#countIgnored();
    const settings = this.#topics.of(run.batch.topic);
    let writers = this.#writers.get(settings);
    if (writers === undefined) {
      const { temporalValues, shaping } = settings;
      writers = { values: new BsonValues(temporalValues, shaping), idValues: idValues(settings) };
      this.#writers.set(settings, writers);
    }
    const place = namespaceOf(run, settings, this.#shapes);
    if (settings.timeSeries !== null) await this.#prepare(run, settings.timeSeries, place);
    return new RecordPlan({
      run,
      settings,
      shapes: this.#shapes,
      ...writers,
      counts: this.#counts,
      namespaceOf: place,
    });
  }

  async #prepare(run: ChangeRun, series: TimeSeries, place: (i: number) => Namespace): Promise<void> {
    for (const namespace of namespacesOf(run, place)) {
      if (this.#prepared.has(namespace)) continue;
      await this.#createTimeSeries(namespace, series);
      this.#prepared.add(namespace);
    }
  }

  async #createTimeSeries({ database, collection }: Namespace, series: TimeSeries): Promise<void> {
    const db = this.#client.db(database);
    const [found] = await db.listCollections({ name: collection }).toArray();
    if (found?.type === 'timeseries') return;
    const fail = (why: string): never => {
      throw new ConnectError(
        'SINK_DDL_FAILED',
        `collection ${database}.${collection} could not be made for time series: ${why}; create it by hand, or remove timeseries.timefield`,
        { place: { table: `${database}.${collection}` } },
      );
    };
    if (found !== undefined) fail('it is there already and is another kind of collection');
    try {
      await db.createCollection(collection, seriesOptions(series));
    } catch (error) {
      if (classifyMongoFailure(error) === 'transient') throw error;
      // Another task was faster.
      if (!(error instanceof MongoServerError && error.code === NAMESPACE_EXISTS)) fail(reasonOf(error));
    }
  }

  #countIgnored(): void {
    const { metrics } = this.#context;
    const { ignoredTruncates, otherEvents } = this.#counts;
    if (ignoredTruncates > 0) metrics.count('ignored_truncates', ignoredTruncates);
    if (otherEvents > 0) metrics.count('ignored_events', otherEvents);
    this.#counts.ignoredTruncates = this.#counts.otherEvents = 0;
  }

  classify(error: unknown) {
    return classifyMongoFailure(error);
  }

  asFailure(error: unknown): ConnectError {
    return asSinkError(error);
  }
}

/** Where the records of the run go; those that name no place are told when they are encoded. */
function namespacesOf(run: ChangeRun, place: (i: number) => Namespace): ReadonlySet<Namespace> {
  const found = new Set<Namespace>();
  for (let i = 0; i < run.count; i++)
    try {
      found.add(place(i));
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error;
    }
  return found;
}

function rateLimiter(values: SinkValues, signal: AbortSignal): () => Promise<void> {
  const { 'rate.limiting.every.n': everyBulks, 'rate.limiting.timeout': pauseMs } = values;
  let bulks = 0;
  return async () => {
    if (everyBulks === 0 || ++bulks <= everyBulks) return;
    bulks = 1;
    await sleep(pauseMs, undefined, { signal });
  };
}

function seriesOptions(series: TimeSeries): CreateCollectionOptions & Document {
  const { timeField, metaField, granularity, expireAfterSeconds } = series;
  return {
    timeseries: { timeField, ...(metaField && { metaField }), ...(granularity && { granularity }) },
    ...(expireAfterSeconds > 0 && { expireAfterSeconds }),
  };
}
