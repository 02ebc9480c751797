/** Elasticsearch and OpenSearch as a target of the shared sink task. */
import { type Config, ConnectError, type SinkTaskContext } from '../../runtime/api/index.ts';
import { UnavailableValue } from '../shared/changeEnvelope.ts';
import type { ChangeRun } from '../shared/changeRun.ts';
import type { DocumentPlan, DocumentSinkKind, DocumentTarget } from '../shared/documentSinkTask.ts';
import { retryTransient } from '../shared/retryTransient.ts';
import { RowForms } from './bulkRows.ts';
import { BulkWriter } from './bulkWriter.ts';
import { checkSinkConfig, sinkConfigDef, sinkSettings } from './config.ts';
import { DocumentEncoder } from './documentEncoder.ts';
import { documentVersions } from './documentVersion.ts';
import { ElasticClient } from './elasticClient.ts';
import { asSinkFailure, classifyElasticFailure } from './elasticFailure.ts';
import { IndexCatalog } from './indexCatalog.ts';
import { targetName } from './indexName.ts';
import { LimitedWarning } from './limitedWarning.ts';
import { mappingOf } from './mapping.ts';
import { RefusedDocuments } from './refusedDocuments.ts';
import { readServer } from './server.ts';

/** Kinds of records of one topic that are kept ready; objects without schema may have any number of them. */
const MAX_ENCODERS = 200;

export const elasticSink: DocumentSinkKind = { checkConfig: checkSinkConfig, target: elasticTarget };

function elasticTarget(config: Config, context: SinkTaskContext): DocumentTarget {
  const { values } = sinkConfigDef.parse(config);
  const settings = sinkSettings(values);
  const { logger, metrics, signal } = context;
  const { maxRetries, retryBackoffMs } = settings;
  const client = new ElasticClient(values, signal);
  const forms = new RowForms();
  const versions = documentVersions(settings);
  const refused = new RefusedDocuments(settings, forms, context);
  const catalog = new IndexCatalog(client, settings);
  const unavailable = new UnavailableValue(settings.placeholder);
  const dropped = new LimitedWarning(logger, 'a record cannot be a document, and is left out (drop.invalid.message)');
  const retry = retryTransient({
    classify: classifyElasticFailure,
    maxRetries,
    retryBackoffMs,
    signal,
    logger,
    metrics,
  });
  const encoders = new Map<string, DocumentEncoder[]>();

  const encoderOf = async (run: ChangeRun): Promise<DocumentEncoder> => {
    const { topic } = run.batch;
    const known = encoders.get(topic) ?? [];
    const fitting = known.find(encoder => encoder.fits(run));
    if (fitting !== undefined) return fitting;
    const target = targetName(topic, settings);
    const mapping = settings.ignoresSchema(topic) ? null : mappingOf(run.fields, settings);
    await retry(() => catalog.prepare(target, mapping));
    const encoder = new DocumentEncoder(run, { target, topic, settings, forms, versions, unavailable, metrics });
    encoders.set(topic, [encoder, ...known.slice(0, MAX_ENCODERS - 1)]);
    return encoder;
  };

  /** With drop.invalid.message nothing but the place of a record tells of it. */
  const lenient =
    (run: ChangeRun, { encode }: DocumentPlan): DocumentPlan['encode'] =>
    (i, log, originId) => {
      const { count } = log;
      const start = log.out.position;
      try {
        encode(i, log, originId);
      } catch (error) {
        if (!(error instanceof ConnectError)) throw error;
        log.truncate(count, start);
        metrics.count('dropped_records');
        const { originalTopic: topic, partition } = run.batch;
        dropped.warn({ topic, partition, offset: run.batch.offset(run.from + i), code: error.code, ...error.place });
      }
    };

  return {
    needs: { key: settings.readsKeys, before: false, sourceFields: versions.sourceFields },
    bounds: { maxRows: settings.maxRows, maxBytes: settings.maxBytes * settings.lanes, lingerMs: settings.lingerMs },
    writers: Array.from(
      { length: settings.lanes },
      () => new BulkWriter({ client, settings, forms, refused, retry, context }),
    ),
    maxRetries,
    retryBackoffMs,
    open: () => readServer(client),
    close: () => client.close(),
    plan: async run => {
      const encoder = await encoderOf(run);
      const plan: DocumentPlan = { encode: (i, log, originId) => encoder.encode(run, i, log, originId) };
      return settings.dropsInvalid ? { encode: lenient(run, plan) } : plan;
    },
    classify: classifyElasticFailure,
    asFailure: asSinkFailure,
  };
}
