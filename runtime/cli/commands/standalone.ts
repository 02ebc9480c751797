/** `millrace standalone`: one worker process with its REST API, until SIGTERM or SIGINT. */
import { isDeepStrictEqual } from 'node:util';
import { type Config, ConnectError } from '../../api/index.ts';
import type { WorkerConfig } from '../../config/workerConfig.ts';
import type { Herder } from '../../herder/herder.ts';
import { StandaloneHerder } from '../../herder/standalone/standaloneHerder.ts';
import { type ConnectorFile, readConnectorFile, readWorkerFile } from '../configFile.ts';
import { parseFlags, type WorkerFlag, workerFlagsHelp, workerKeysHelp } from '../flags.ts';
import { resolvedWorkerConfig } from '../resolvedWorkerConfig.ts';
import { runWorker } from '../runWorker.ts';

const flags: readonly WorkerFlag[] = [
  'bootstrap-servers',
  'schema-registry',
  'data-dir',
  'listen',
  'group-id',
  'log-level',
];
export async function standalone(args: readonly string[]): Promise<number> {
  const { values, positionals, config: fromFlags } = parseFlags(args, flags);
  if (values.help === true) {
    process.stdout.write(`${help()}\n`);
    return 0;
  }
  const { workerFile, connectorFiles } = await readFiles(positionals);
  const sources = { file: workerFile, environment: process.env, flags: fromFlags };
  const { config, ignored } = await resolvedWorkerConfig(sources);
  refuseExactlyOnce(config);
  return runWorker(config, ignored, {
    host: (_, listening) => listening,
    start: options => StandaloneHerder.start({ ...options, onGroupTaken: options.onFatal }),
    started: async herder => {
      for (const file of connectorFiles) await runConnector(file, herder);
    },
  });
}

/** It needs a leader who fences what ran before: a promise of a worker alone would not hold. */
function refuseExactlyOnce(config: WorkerConfig): void {
  const support = config['exactly.once.source.support'];
  if (support === 'disabled') return;
  throw new ConnectError(
    'CONFIG_INVALID',
    `exactly.once.source.support=${support} needs a cluster on Kafka: start this worker as millrace worker, which may be the only one, or remove the key`,
  );
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

function help(): string {
  return `usage: millrace standalone [options] [worker.properties] [connector files…]

Runs one worker with its REST API. Without arguments it brings its own broker and schema registry, in a folder.
Files may be .properties, .json or .yaml. Connector files hold a connector's keys with its name, or the form of POST /connectors.
Precedence: flags, environment (CONNECT_GROUP_ID for group.id; _ = . __ = _ ___ = -), file, defaults.

options:
${workerFlagsHelp(flags)}

worker keys:
${workerKeysHelp()}`;
}
