/**
 * Runs one source task: poll, encode, send, commit offsets. Polls go on while earlier batches are being sent, up to the byte bound. Whatever ends
 * the task, what was acknowledged before is committed.
 */
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import {
  type Config,
  ConnectError,
  type SourceBatch,
  type SourceTask,
  type SourceTaskContext,
} from '../../api/index.ts';
import { TaskMeter } from '../../metrics/taskMeter.ts';
import { sourceProducer } from '../clientSettings.ts';
import { Closer } from '../closer.ts';
import { closeConverters, createConverters } from '../converters.ts';
import { ErrorPolicy } from '../errors/errorPolicy.ts';
import type { TaskDeps } from '../taskDeps.ts';
import { taskLogger } from '../taskLogger.ts';
import { TaskControl, type TaskRunner } from '../taskRunner.ts';
import { TransformChain } from '../transformChain.ts';
import type { TaskRequest } from '../types.ts';
import { BatchEncoder } from './batchEncoder.ts';
import { LiveTopic } from './liveTopic.ts';
import { OffsetCommitter } from './offsetCommitter.ts';
import { OffsetTracker } from './offsetTracker.ts';
import { Sender } from './sender.ts';
import { SourceTopics } from './sourceTopics.ts';
import { TopicCreationRules } from './topicCreation.ts';

/** Rest after a poll that gave nothing at once, so that a task that does not wait itself does not spin. */
const idleMs = 5;

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
    const { id, connectorConfig, taskConfig } = this.#request;
    const { config, broker, plugins, converterSources } = this.#deps;
    const { control, meter } = this;
    const logger = taskLogger(this.#deps.logger, id);
    await using resources = new Closer(logger);

    const plugin = plugins.require(connectorConfig['connector.class'] ?? '', 'source');
    refuseExactlyOnce(connectorConfig);
    const converters = createConverters(connectorConfig, converterSources);
    resources.defer(() => closeConverters(converters));
    const chain = TransformChain.fromConfig(connectorConfig, plugins);
    if (chain !== null) resources.defer(() => chain.close());
    const policy = new ErrorPolicy(connectorConfig, logger, meter, control.stopping);
    const producer = sourceProducer(`connector-producer-${id.connector}-${id.task}`, connectorConfig, config);
    const rules = TopicCreationRules.fromConfig(connectorConfig, config['topic.creation.enable']);
    const topics = new SourceTopics(broker.admin(), rules);
    const tracker = new OffsetTracker();
    const sender = new Sender({
      createProducer: () => broker.producer(producer.options),
      tracker,
      onTopicUsed: topic => control.topicUsed(topic),
      batchBytes: producer.batchBytes,
      bufferBytes: producer.bufferBytes,
      meter,
      logger,
      signal: control.cancelled,
    });
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

    const offsets = await this.#deps.offsets(id.connector, connectorConfig);
    const task = plugin.createTask();
    const context: SourceTaskContext = {
      connectorName: id.connector,
      taskId: id.task,
      config: taskConfig,
      logger,
      signal: control.stopping,
      metrics: meter,
      offsets,
      followTopic: (topic, from) => LiveTopic.open(broker, { topic, from, name: `${id.connector}-${id.task}` }),
    };
    resources.defer(() => task.stop());
    await task.start(taskConfig, context);
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
      if (unsent > 0)
        logger.warn({ records: unsent }, 'not all records were acknowledged in time; they will be read again');
      if (!control.cancelled.aborted) await committer.commit();
    };
    committer.start();
    try {
      await this.#loop(task, encoder, sender, policy);
    } catch (error) {
      await finish().catch(failure => logger.warn({ err: failure }, 'the last commit of offsets failed'));
      throw error;
    }
    await finish();
    sender.throwIfFailed();
  }

  async #loop(task: SourceTask, encoder: BatchEncoder, sender: Sender, policy: ErrorPolicy): Promise<void> {
    const { control, meter } = this;
    while (await control.mayRun()) {
      await sender.room(control.stopping);
      const started = performance.now();
      const batches = await this.#poll(task, policy);
      const tookMs = performance.now() - started;
      let records = 0;
      for (const batch of batches) {
        await encoder.encode(batch);
        records += batch.count;
        const { sourcePartition: partition, sourceOffset: offset } = batch;
        sender.mark(offset === null ? null : { partition, offset }, batch.sourceTimestampMs);
        meter.add('source_record_poll_total', batch.count);
        meter.observe('batch_size', batch.count);
        if (sender.open.byteLength >= flushBytes) {
          sender.flush();
          await sender.room(control.stopping);
        }
      }
      sender.flush();
      sender.throwIfFailed();
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
    'Invalid value required for configuration exactly.once.support: this worker delivers at least once; remove the key, or set it to requested',
  );
}

/** From here on a poll's records go while the rest of it is encoded. */
const flushBytes = 1_000_000;
