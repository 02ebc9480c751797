/** `millrace standalone`: one worker process with its REST API, until SIGTERM or SIGINT. */
import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Config, ConnectError, type Logger } from '../../api/index.ts';
import { EmbeddedRegistry } from '../../broker/embedded/embeddedRegistry.ts';
import { registryApi } from '../../broker/embedded/registryApi.ts';
import type { WorkerConfig } from '../../config/workerConfig.ts';
import { workerKeys } from '../../config/workerKeys.ts';
import type { Herder } from '../../herder/herder.ts';
import { StandaloneHerder } from '../../herder/standalone/standaloneHerder.ts';
import { LogLevels } from '../../metrics/logLevels.ts';
import { WorkerMetrics } from '../../metrics/workerMetrics.ts';
import { RestServer } from '../../rest/server.ts';
import { type ConnectorFile, readConnectorFile, readWorkerFile } from '../configFile.ts';
import { option, parseFlags, type WorkerFlag, workerFlagsHelp } from '../flags.ts';
import { createLogger } from '../logger.ts';
import { pluginModules } from '../pluginModules.ts';
import { resolvedWorkerConfig } from '../resolvedWorkerConfig.ts';

const flags: readonly WorkerFlag[] = [
  'bootstrap-servers',
  'schema-registry',
  'data-dir',
  'listen',
  'group-id',
  'log-level',
];
/** Beyond the tasks' own time, for statuses and connections. */
const closingMs = 8_000;
/** As long as Kafka Connect's own start waits for its cluster. */
const brokerWaitMs = 60_000;
const brokerRetryMs = 2_000;
const maxBrokerRetryMs = 30_000;

export async function standalone(args: readonly string[]): Promise<number> {
  const { values, positionals, config: fromFlags } = parseFlags(args, flags);
  if (values.help === true) {
    process.stdout.write(`${help()}\n`);
    return 0;
  }
  const { workerFile, connectorFiles } = await readFiles(positionals);
  const sources = { file: workerFile, environment: process.env, flags: fromFlags };
  const { config, ignored } = await resolvedWorkerConfig(sources);
  const levels = new LogLevels(LogLevels.parse(config['log.level'])!);
  const logger = createLogger(levels);
  if (ignored.length > 0) {
    logger.warn({ keys: ignored }, `these configuration keys mean nothing here: ${ignored.join(', ')}`);
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
  let onGroupTaken!: (error: unknown) => void;
  const groupTaken = new Promise<unknown>(resolve => {
    onGroupTaken = resolve;
  });
  const starting = start(config, rest, metrics, logger, connectorFiles, onGroupTaken);
  const ended = Promise.race([signal, groupTaken]);
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
  metrics: WorkerMetrics,
  logger: Logger,
  connectorFiles: readonly ConnectorFile[],
  onGroupTaken: (error: unknown) => void,
): Promise<StandaloneHerder> {
  const options = {
    config,
    pluginModules: pluginModules(config['plugin.path'], path => {
      logger.warn({ path }, `plugin.path names ${path}, which does not exist; it is left out`);
    }),
    workerId: workerId(config, rest),
    metrics,
    logger,
    onGroupTaken,
  };
  const herder = await untilReachable(() => StandaloneHerder.start(options), logger);
  rest.ready(herder);
  logger.info({ url: rest.url, broker: brokerText(config) }, `worker is ready: ${rest.url}`);
  for (const file of connectorFiles) await runConnector(file, herder);
  return herder;
}

async function runConnector({ path, name, config, initialState }: ConnectorFile, herder: Herder): Promise<void> {
  try {
    if (!herder.connectors().includes(name)) {
      await herder.createConnector({ name, config, initialState: initialState ?? 'RUNNING' });
    } else if (!isDeepStrictEqual(herder.connectorInfo(name).config, config)) {
      // What runs already is not checked again: a database that is away must not keep the worker from starting.
      await herder.putConfig(name, config);
    }
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    throw new ConnectError(error.code, `connector ${name} of ${path}: ${error.message}`, { cause: error });
  }
}

/** A broker that is started together with the worker may come later; one that does not come ends the worker with its error. */
async function untilReachable<T>(attempt: () => Promise<T>, logger: Logger): Promise<T> {
  const deadline = Date.now() + brokerWaitMs;
  for (let retryMs = brokerRetryMs; ; retryMs = Math.min(2 * retryMs, maxBrokerRetryMs)) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ConnectError && error.retriable) || Date.now() > deadline) throw error;
      const message = `worker cannot start yet and tries again in ${retryMs / 1000} s: ${error.message}`;
      logger.warn({ code: error.code }, message);
      await wait(Math.min(retryMs, Math.max(0, deadline - Date.now())));
    }
  }
}

/** The first file is the worker's, unless it is a connector's. */
async function readFiles(paths: readonly string[]): Promise<{ workerFile: Config; connectorFiles: ConnectorFile[] }> {
  const [first, ...others] = paths;
  if (first === undefined) return { workerFile: {}, connectorFiles: [] };
  const content = await readWorkerFile(first);
  const isConnector = content['connector.class'] !== undefined || content['config.connector.class'] !== undefined;
  const connectorPaths = isConnector ? paths : others;
  const connectorFiles = await Promise.all(connectorPaths.map(readConnectorFile));
  return { workerFile: isConnector ? {} : content, connectorFiles };
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

function workerId(config: WorkerConfig, rest: RestServer): string {
  const host = config['rest.advertised.host.name'] ?? new URL(rest.url).hostname;
  return `${host}:${config['rest.advertised.port'] ?? rest.port}`;
}

function brokerText({ broker }: WorkerConfig): string {
  return broker.kind === 'embedded' ? `embedded in ${broker.dataDir}` : broker.settings['bootstrap.servers']!;
}

function help(): string {
  const keys = Object.entries(workerKeys).map(([name, key]) => {
    const preset = key.default === null || key.default === '' ? '' : ` [${key.default}]`;
    return option(name, `${key.documentation}${preset}`);
  });
  return `usage: millrace standalone [options] [worker.properties] [connector files…]

Runs one worker with its REST API. Without arguments it brings its own broker and schema registry, in a folder.
Files may be .properties, .json or .yaml. Connector files hold a connector's keys with its name, or the form of POST /connectors.
Precedence: flags, environment (CONNECT_GROUP_ID for group.id; _ = . __ = _ ___ = -), file, defaults.

options:
${workerFlagsHelp(flags)}

worker keys:
${keys.join('\n')}`;
}
