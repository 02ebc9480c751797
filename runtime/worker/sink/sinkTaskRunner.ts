/**
 * Runs one sink task as a member of its connector's consumer group: fetch, put, commit what the task says is safe. A put that fails for a passing
 * reason is repeated with the same batches, while the consumer stays in the group with its partitions paused.
 */
import { setImmediate } from 'node:timers/promises';
import { type Config, ConnectError, type SinkTaskContext } from '../../api/index.ts';
import type { Consumer } from '../../broker/port.ts';
import { readRecords } from '../../broker/records/index.ts';
import { TaskMeter } from '../../metrics/taskMeter.ts';
import { sinkConsumer, sourceProducer } from '../clientSettings.ts';
import { Closer } from '../closer.ts';
import { closeConverters, createConverters } from '../converters.ts';
import { backOffMs, ErrorPolicy } from '../errors/errorPolicy.ts';
import type { TaskDeps } from '../taskDeps.ts';
import { taskLogger } from '../taskLogger.ts';
import { TaskControl, type TaskRunner } from '../taskRunner.ts';
import { TransformChain } from '../transformChain.ts';
import type { TaskRequest } from '../types.ts';
import { BatchReader } from './batchReader.ts';
import { DeadLetterQueue } from './deadLetterQueue.ts';
import { warnOfMissingTopics } from './missingTopics.ts';
import { keyOf } from './partitionState.ts';
import { SinkDelivery } from './sinkDelivery.ts';

/** Longest wait for records: a task without records still gets its tick. */
const maxPollMs = 1_000;
const maxRetryDelayMs = 5_000;

export class SinkTaskRunner implements TaskRunner {
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

    const plugin = await plugins.load(connectorConfig['connector.class'] ?? '', 'sink');
    const topics = topicsOf(connectorConfig);
    const converters = await createConverters(connectorConfig, converterSources, logger);
    resources.defer(() => closeConverters(converters));
    const chain = await TransformChain.fromConfig(connectorConfig, plugins);
    if (chain !== null) resources.defer(() => chain.close());
    const policy = new ErrorPolicy(connectorConfig, logger, meter, control.stopping);
    const producer = sourceProducer(`connector-dlq-producer-${id.connector}-${id.task}`, connectorConfig, config);
    const deadLetters = await DeadLetterQueue.open({
      broker,
      id,
      config: connectorConfig,
      createProducer: () => broker.producer(producer.options),
      meter,
      signal: control.stopping,
    });
    if (deadLetters !== null) resources.defer(() => deadLetters.close());
    const reader = new BatchReader({ converters, chain, policy, deadLetters });

    const task = plugin.createTask();
    const delivery = new SinkDelivery({ task, policy, deadLetters, meter, logger, control });
    const settings = sinkConsumer(id.connector, id.task, connectorConfig, config);
    const consumer = broker.consumer({
      ...settings,
      onAssigned: partitions => delivery.assigned(partitions),
      onRevoked: partitions => delivery.revoked(partitions),
    });
    delivery.consumer = consumer;
    resources.defer(() => consumer.close());
    // A task that is given up must not keep its partitions from the one that takes its place.
    control.cancelled.addEventListener('abort', () => {
      consumer.close().catch(error => logger.warn({ err: error }, 'the consumer of a cancelled task did not close'));
    });
    resources.defer(() => task.stop());
    const context: SinkTaskContext = {
      connectorName: id.connector,
      taskId: id.task,
      config: taskConfig,
      logger,
      signal: control.stopping,
      metrics: meter,
      assignment: () => consumer.assignment(),
      seek: (partition, offset) => delivery.seek(partition, offset),
      pause: partitions => delivery.pause(partitions),
      resume: partitions => delivery.resume(partitions),
      requestCommit: () => delivery.requestCommit(),
      reportErrantRecord: (record, error) => delivery.reportErrant(record, error),
    };
    await task.start(taskConfig, context);
    await consumer.subscribe(topics);
    if (id.task === 0) await warnOfMissingTopics(topics, broker, logger);
    control.started();
    try {
      await this.#loop(consumer, reader, delivery, settings.isolation ?? 'read_uncommitted');
    } catch (error) {
      await delivery.finish().catch(failure => logger.warn({ err: failure }, 'the last commit of offsets failed'));
      throw error;
    }
    if (!control.cancelled.aborted) await delivery.finish();
  }

  async #loop(
    consumer: Consumer,
    reader: BatchReader,
    delivery: SinkDelivery,
    isolation: 'read_uncommitted' | 'read_committed',
  ): Promise<void> {
    const { control, meter } = this;
    const intervalMs = this.#deps.config['offset.flush.interval.ms'];
    let commitAt = Date.now() + intervalMs;
    let retries = 0;
    while (!control.stopping.aborted) {
      if (delivery.commitRequested || Date.now() >= commitAt) {
        await delivery.commit();
        commitAt = Date.now() + intervalMs;
      }
      await delivery.setPaused(control.paused);
      control.report(control.paused ? 'PAUSED' : 'RUNNING');
      delivery.applySeeks();
      const waitMs = delivery.hasPending
        ? backOffMs(retries, maxRetryDelayMs)
        : Math.max(0, Math.min(maxPollMs, commitAt - Date.now()));
      const fetched = await control.interruptible(signal => consumer.poll(waitMs, signal));
      if (control.stopping.aborted) return;
      delivery.throwIfFailed();
      // Partitions may have come during the poll, and the task sought in them.
      const moved = delivery.applySeeks();
      let lag = 0;
      for (const part of fetched) {
        if (moved.has(keyOf(part))) continue;
        const columns = await readRecords(part, isolation);
        meter.add('sink_record_read_total', columns.count);
        meter.add('sink_record_read_bytes_total', part.bytes.length);
        lag = Math.max(lag, part.highWatermark - columns.nextOffset);
        control.topicUsed(part.topic);
        delivery.queue(columns, await reader.read(columns));
      }
      if (fetched.length > 0) meter.set('sink_record_lag_max', lag);
      if (control.paused && !delivery.hasPending) continue;
      retries = (await delivery.put()) ? 0 : retries + 1;
      // A task that never waits must not keep the thread from its neighbours.
      if (fetched.length > 0) await setImmediate();
    }
  }
}

function topicsOf(config: Config): string[] | RegExp {
  const topics = (config.topics ?? '')
    .split(',')
    .map(topic => topic.trim())
    .filter(topic => topic !== '');
  const pattern = (config['topics.regex'] ?? '').trim();
  if ((topics.length === 0) === (pattern === '')) {
    throw new ConnectError('CONFIG_INVALID', 'Must configure one of topics or topics.regex');
  }
  if (pattern === '') return topics;
  try {
    return new RegExp(`^(?:${pattern})$`);
  } catch (error) {
    throw new ConnectError(
      'CONFIG_INVALID',
      `Invalid value ${pattern} for configuration topics.regex: ${String(error)}`,
    );
  }
}
