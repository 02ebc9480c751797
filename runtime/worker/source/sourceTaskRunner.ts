/**
 * Runs one source task: poll, encode, send, commit offsets. Polls go on while earlier batches are being sent, up to the byte bound. Whatever ends
 * the task, what was acknowledged before is committed. A request with a generation asks for exactly-once delivery.
 */
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import {
  type Config,
  ConnectError,
  type Logger,
  type SourceBatch,
  type SourcePlugin,
  type SourceTask,
  type SourceTaskContext,
} from '../../api/index.ts';
import type { Producer } from '../../broker/port.ts';
import { TaskMeter } from '../../metrics/taskMeter.ts';
import { type SourceProducerSettings, sourceProducer } from '../clientSettings.ts';
import { Closer } from '../closer.ts';
import { closeConverters, createConverters } from '../converters.ts';
import { ErrorPolicy } from '../errors/errorPolicy.ts';
import type { TaskDeps } from '../taskDeps.ts';
import { taskLogger } from '../taskLogger.ts';
import { TaskControl, type TaskRunner } from '../taskRunner.ts';
import { tellSlow } from '../tellSlow.ts';
import { TransformChain } from '../transformChain.ts';
import type { TaskRequest } from '../types.ts';
import { BatchEncoder } from './batchEncoder.ts';
import { LiveTopic } from './liveTopic.ts';
import { MarkedBoundaries } from './markedBoundaries.ts';
import { OffsetCommitter } from './offsetCommitter.ts';
import { OffsetTracker } from './offsetTracker.ts';
import type { RecordSender } from './recordSender.ts';
import { Sender } from './sender.ts';
import { SourceTopics } from './sourceTopics.ts';
import { TopicCreationRules } from './topicCreation.ts';
import { TransactionalSender } from './transactionalSender.ts';
import { type TransactionSettings, taskTransactionalId, transactionSettings } from './transactionSettings.ts';

/** Rest after a poll that gave nothing at once, so that a task that does not wait itself does not spin. */
const idleMs = 5;
/** What is sent in front of the first offset is to be acknowledged before. */
const firstCommitRetryMs = 50;

export class SourceTaskRunner implements TaskRunner {
  readonly meter = new TaskMeter();
  readonly control: TaskControl;
  readonly #request: TaskRequest;
  readonly #deps: TaskDeps;

  constructor(request: TaskRequest, deps: TaskDeps) {
    this.#request = request;
    this.#deps = deps;
    this.control = new TaskControl(request.id, request.target, deps.listener);
  }

  async run(): Promise<void> {
    const { id, connectorConfig, taskConfig, generation } = this.#request;
    const { config, broker, plugins, converterSources } = this.#deps;
    const { control, meter } = this;
    const logger = taskLogger(this.#deps.logger, id);
    await using resources = new Closer(logger);

    const plugin = await plugins.load(connectorConfig['connector.class'] ?? '', 'source');
    const converters = await createConverters(connectorConfig, converterSources, logger);
    resources.defer(() => closeConverters(converters));
    const chain = await TransformChain.fromConfig(connectorConfig, plugins);
    if (chain !== null) resources.defer(() => chain.close());
    const policy = new ErrorPolicy(connectorConfig, logger, meter, control.stopping);
    if (generation === undefined) refuseExactlyOnce(connectorConfig);
    const exactlyOnce = generation === undefined ? null : this.#exactlyOnce(plugin);
    const clientId = `connector-producer-${id.connector}-${id.task}`;
    const producer = sourceProducer(clientId, connectorConfig, config, exactlyOnce ?? undefined);
    // Before the offsets are read: from then on nobody else can change them.
    const transactional = exactlyOnce === null ? null : await this.#takeOver(producer, generation!, logger, resources);
    const rules = TopicCreationRules.fromConfig(connectorConfig, config['topic.creation.enable']);
    const topics = new SourceTopics(broker.admin(), rules);
    const stored = unlessAborted(this.#deps.offsets(id.connector, connectorConfig), control.stopping);
    const offsets = await tellSlow(stored, 'the topic of its offsets', logger);
    const task = plugin.createTask();
    const tracker = new OffsetTracker();
    const common = {
      onTopicUsed: (topic: string) => control.topicUsed(topic),
      batchBytes: producer.batchBytes,
      bufferBytes: producer.bufferBytes,
      meter,
      logger,
      signal: control.cancelled,
    };
    const sender: RecordSender =
      transactional === null || exactlyOnce === null
        ? new Sender({ ...common, createProducer: () => broker.producer(producer.options), tracker })
        : new TransactionalSender({ ...common, ...exactlyOnce, producer: transactional, offsets, task });
    resources.defer(() => sender.close());
    const encoder = new BatchEncoder({
      open: sender.open,
      topics,
      converters,
      chain,
      policy,
      meter,
      maxRecordBytes: producer.maxRecordBytes,
      signal: control.stopping,
    });

    const boundaries = exactlyOnce?.settings.boundary === 'connector' ? new MarkedBoundaries() : undefined;
    const context: SourceTaskContext = {
      connectorName: id.connector,
      taskId: id.task,
      config: taskConfig,
      logger,
      signal: control.stopping,
      metrics: meter,
      offsets,
      transactions: boundaries,
      followTopic: (topic, from) => LiveTopic.open(broker, { topic, from, name: `${id.connector}-${id.task}` }),
      createTopic: (topic, configs) => topics.create(topic, configs),
    };
    resources.defer(() => task.stop());
    await tellSlow(task.start(taskConfig, context), 'its connector', logger);
    control.started();

    const committer = new OffsetCommitter({
      tracker,
      offsets,
      task,
      meter,
      logger,
      intervalMs: config['offset.flush.interval.ms'],
      onError: error => sender.fail(error),
    });
    const finish = async (): Promise<void> => {
      committer.stopTimer();
      const bound = AbortSignal.any([control.cancelled, AbortSignal.timeout(config['offset.flush.timeout.ms'])]);
      const unsent = (await sender.drain(bound)) ? 0 : sender.activeRecords;
      if (unsent > 0) logger.warn({ records: unsent }, 'not all records were delivered; they will be read again');
      if (!control.cancelled.aborted) await committer.commit();
    };
    if (exactlyOnce === null) committer.start();
    // In transactions what follows is not seen without the offset in front of it.
    const storeFirst = async (): Promise<void> => {
      while (exactlyOnce === null && !committer.hasCommitted && !control.stopping.aborted) {
        sender.throwIfFailed();
        await committer.commit();
        if (!committer.hasCommitted) await delay(firstCommitRetryMs, undefined, { signal: control.stopping });
      }
    };
    try {
      await this.#loop(task, encoder, sender, policy, boundaries, storeFirst);
    } catch (error) {
      await finish().catch(failure => logger.warn({ err: failure }, 'the last commit of offsets failed'));
      throw error;
    }
    await finish();
    sender.throwIfFailed();
  }

  #exactlyOnce(plugin: SourcePlugin): ExactlyOnce {
    const { id, connectorConfig } = this.#request;
    const { config } = this.#deps;
    const settings = transactionSettings(connectorConfig, config);
    return {
      settings,
      defaultTimeoutMs: settings.defaultTimeoutMs,
      transactionalId: taskTransactionalId(config['group.id'], id.connector, id.task),
      waitsForOffsets: plugin.createConnector().exactlyOnceSupport?.(connectorConfig) === 'SUPPORTED',
    };
  }

  /** Makes the producer without which nobody writes for this task, once no earlier set of tasks can write, and while this set is the newest. */
  async #takeOver(
    { options }: SourceProducerSettings,
    generation: number,
    logger: Logger,
    resources: Closer,
  ): Promise<Producer> {
    const { guard, broker } = this.#deps;
    const { id } = this.#request;
    const { stopping } = this.control;
    const wait = (waited: Promise<void>, what: string): Promise<void> =>
      tellSlow(unlessAborted(waited, stopping), what, logger);
    await wait(guard.ask('fenced', id, generation), 'earlier tasks to be fenced by the leader');
    const producer = broker.producer(options);
    resources.defer(() => producer.close(closeProducerMs));
    await wait(producer.initTransactions(), 'the transaction of the task before it to be ended by the broker');
    await wait(guard.ask('current', id, generation), 'the end of the config topic');
    return producer;
  }

  async #loop(
    task: SourceTask,
    encoder: BatchEncoder,
    sender: RecordSender,
    policy: ErrorPolicy,
    boundaries: MarkedBoundaries | undefined,
    storeFirst: () => Promise<void>,
  ): Promise<void> {
    const { control, meter } = this;
    const end = async (how: 'commit' | 'abort' | null): Promise<void> => {
      if (how !== null && sender instanceof TransactionalSender) await sender.endTransaction(how, control.stopping);
    };
    for (;;) {
      if (control.paused) sender.pollDone(true);
      if (!(await control.mayRun())) return;
      await sender.room(control.stopping);
      const started = performance.now();
      const batches = await this.#poll(task, policy);
      const tookMs = performance.now() - started;
      let records = 0;
      for (const batch of batches) {
        await encoder.encode(batch);
        records += batch.count;
        sender.mark(batch);
        meter.add('source_record_poll_total', batch.count);
        meter.observe('batch_size', batch.count);
        if (sender.open.byteLength >= flushBytes) {
          sender.flush();
          await sender.room(control.stopping);
        }
        if (boundaries !== undefined) await end(boundaries.behind(batch));
      }
      sender.pollDone(false);
      if (boundaries !== undefined) await end(boundaries.behindPoll());
      sender.throwIfFailed();
      if (batches.some(batch => batch.count === 0 && batch.sourceOffset !== null)) await storeFirst();
      meter.set('source_record_active_count', sender.activeRecords);
      if (records > 0) {
        meter.observe('poll_batch_time_ms', tookMs);
        // A source that never waits must not keep acknowledgements, and the thread's other tasks, from their turn.
        await setImmediate();
      } else if (tookMs < 1) await delay(idleMs, undefined, { signal: control.stopping });
    }
  }

  async #poll(task: SourceTask, policy: ErrorPolicy): Promise<readonly SourceBatch[]> {
    try {
      return await task.poll();
    } catch (error) {
      if (this.control.stopping.aborted) throw error;
      const again = await policy.recover(
        { stage: 'TASK_POLL', className: task.constructor.name, error, place: {} },
        () => task.poll(),
      );
      return 'value' in again ? again.value : [];
    }
  }
}

/** Better no data than a promise that is not kept. */
function refuseExactlyOnce(config: Config): void {
  if (config['exactly.once.support']?.trim().toLowerCase() !== 'required') return;
  throw new ConnectError(
    'CONFIG_INVALID',
    'Invalid value required for configuration exactly.once.support: this worker delivers at least once, since exactly.once.source.support is not enabled',
  );
}

interface ExactlyOnce {
  readonly settings: TransactionSettings;
  readonly defaultTimeoutMs: number;
  readonly transactionalId: string;
  readonly waitsForOffsets: boolean;
}

const closeProducerMs = 2_000;

/** What is waited for goes on by itself where the task is to stop first. */
async function unlessAborted<T>(waited: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let onAbort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([waited, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** From here on a poll's records go while the rest of it is encoded. */
const flushBytes = 1_000_000;
