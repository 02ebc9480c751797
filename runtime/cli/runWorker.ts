/**
 * A worker as a process: REST API, herder, and an end in order at SIGTERM or SIGINT, for all kinds of herders. What listens first is the REST API, so that
 * health can be asked while the broker is still waited for.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { ConnectError } from '../api/index.ts';
import { EmbeddedRegistry } from '../broker/embedded/embeddedRegistry.ts';
import { registryApi } from '../broker/embedded/registryApi.ts';
import type { IgnoredKey } from '../config/loadWorkerConfig.ts';
import { SecretMask, secretsOf } from '../config/secretMask.ts';
import type { WorkerConfig } from '../config/workerConfig.ts';
import type { Herder } from '../herder/herder.ts';
import type { HerderOptions } from '../herder/herderParts.ts';
import { LogLevels } from '../metrics/logLevels.ts';
import { WorkerMetrics } from '../metrics/workerMetrics.ts';
import { RestServer } from '../rest/server.ts';
import { createLogger } from './logger.ts';
import { pluginModules } from './pluginModules.ts';

export interface StartOptions extends HerderOptions {
  readonly levels: LogLevels;
  readonly scheme: 'http' | 'https';
  /** The worker must stop. */
  readonly onFatal: (error: unknown) => void;
}

export interface WorkerKind {
  /** Of those that reach this worker. */
  readonly host: (config: WorkerConfig, listening: string) => string;
  readonly start: (options: StartOptions) => Promise<Herder>;
  /** The worker is ready. */
  readonly started: (herder: Herder) => Promise<void>;
}

/** Owner of the worker's own secrets; no connector has this name. */
const workerSecrets = '';
/** Beyond the tasks' own time, for statuses and connections. */
const closingMs = 8_000;
/** As long as Kafka Connect's own start waits for its cluster. */
const brokerWaitMs = 60_000;
const brokerRetryMs = 2_000;
const maxBrokerRetryMs = 30_000;

/** Resolves with the exit code; rejects with what ended the worker. */
export async function runWorker(
  config: WorkerConfig,
  ignored: readonly IgnoredKey[],
  kind: WorkerKind,
): Promise<number> {
  const levels = new LogLevels(LogLevels.parse(config['log.level'])!);
  const secrets = new SecretMask();
  secrets.set(workerSecrets, secretsOf(config.raw, config.raw));
  const logger = createLogger(levels, secrets);
  if (ignored.length > 0) {
    const shown = ignored.map(({ key, meant }) => (meant === null ? key : `${key} (${meant} is probably meant)`));
    logger.warn(
      { keys: ignored.map(({ key }) => key) },
      `these configuration keys mean nothing here: ${shown.join(', ')}`,
    );
  }
  process.on('unhandledRejection', error => logger.error({ err: error }, 'unexpected error; the worker goes on'));
  const signal = endSignal();
  const registry = config.registry.kind === 'embedded' ? EmbeddedRegistry.open(config.registry.dataDir, logger) : null;
  const metrics = new WorkerMetrics();
  const rest = await RestServer.start({
    config,
    metrics,
    levels,
    logger,
    registry: registry === null ? [] : registryApi(registry),
  });
  let onFatal!: (error: unknown) => void;
  const fatal = new Promise<unknown>(resolve => {
    onFatal = resolve;
  });
  const starting = start(config, rest, { metrics, levels, secrets, logger, onFatal }, kind);
  const ended = Promise.race([signal, fatal]);
  const herder = await Promise.race([starting, ended.then(() => null)]);
  const reason = await ended;
  const failure = typeof reason === 'string' ? null : reason;
  if (failure === null) logger.info({ signal: reason }, 'worker stops');
  else logger.error({ err: failure }, 'worker stops');
  await rest.close();
  // Nothing runs yet that would have to be stopped in order.
  if (herder === null) return ending(failure);
  const deadline = setTimeout(() => {
    logger.error({}, 'worker did not stop in time and is ended');
    process.exit(1);
  }, config['task.shutdown.graceful.timeout.ms'] + closingMs);
  deadline.unref();
  await herder.close();
  await registry?.close();
  logger.info({}, 'worker has stopped');
  return ending(failure);
}

function ending(failure: unknown): number {
  if (failure !== null) throw failure;
  return 0;
}

async function start(
  config: WorkerConfig,
  rest: RestServer,
  given: Pick<StartOptions, 'metrics' | 'levels' | 'secrets' | 'logger' | 'onFatal'>,
  kind: WorkerKind,
): Promise<Herder> {
  const { logger } = given;
  const host = config['rest.advertised.host.name'] ?? kind.host(config, new URL(rest.url).hostname);
  const options = {
    config,
    pluginModules: await pluginModules(config['plugin.path'], message => logger.warn({}, message)),
    workerId: `${host}:${config['rest.advertised.port'] ?? rest.port}`,
    scheme: rest.scheme,
    ...given,
  };
  const herder = await untilReachable(() => kind.start(options), rest, given);
  rest.ready(herder);
  logger.info({ url: rest.url, broker: brokerText(config) }, `worker is ready: ${rest.url}`);
  await kind.started(herder);
  return herder;
}

/** A broker that is started together with the worker may come later; one that does not come ends the worker with its error. */
async function untilReachable<T>(
  attempt: () => Promise<T>,
  rest: RestServer,
  { logger, secrets }: Pick<StartOptions, 'logger' | 'secrets'>,
): Promise<T> {
  rest.starting('starting connectors');
  const deadline = Date.now() + brokerWaitMs;
  for (let retryMs = brokerRetryMs; ; retryMs = Math.min(2 * retryMs, maxBrokerRetryMs)) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ConnectError && error.retriable) || Date.now() > deadline) throw error;
      const message = `worker cannot start yet and tries again in ${retryMs / 1000} s: ${error.message}`;
      logger.warn({ code: error.code }, message);
      rest.starting(`waiting for the broker (${secrets.mask(error.message)})`);
      await wait(Math.min(retryMs, Math.max(0, deadline - Date.now())));
    }
  }
}

/** The first signal asks for a graceful stop, the second ends the process. */
function endSignal(): Promise<string> {
  return new Promise(resolve => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) {
      process.once(name, () => {
        resolve(name);
        process.once(name, () => process.exit(130));
      });
    }
  });
}

function brokerText({ broker }: WorkerConfig): string {
  return broker.kind === 'embedded' ? `embedded in ${broker.dataDir}` : broker.settings['bootstrap.servers']!;
}
