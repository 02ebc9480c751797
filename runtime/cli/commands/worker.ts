/** `millrace worker`: one worker of a cluster, until SIGTERM or SIGINT. */
import { hostname } from 'node:os';
import { ConnectError } from '../../api/index.ts';
import { environmentConfig } from '../../config/loadWorkerConfig.ts';
import type { WorkerConfig } from '../../config/workerConfig.ts';
import { DistributedHerder } from '../../herder/distributed/distributedHerder.ts';
import { listenersOf } from '../../rest/listeners.ts';
import { readWorkerFile } from '../configFile.ts';
import { parseFlags, type WorkerFlag, workerFlagsHelp, workerKeysHelp } from '../flags.ts';
import { resolvedWorkerConfig } from '../resolvedWorkerConfig.ts';
import { runWorker } from '../runWorker.ts';

const flags: readonly WorkerFlag[] = ['bootstrap-servers', 'schema-registry', 'listen', 'group-id', 'log-level'];

export async function worker(args: readonly string[]): Promise<number> {
  const { values, positionals, config: fromFlags } = parseFlags(args, flags);
  if (values.help === true) {
    process.stdout.write(`${help()}\n`);
    return 0;
  }
  const [file, ...others] = positionals;
  if (others.length > 0) {
    throw new ConnectError(
      'CLI_USAGE',
      `worker takes one file; connectors of a cluster are created over REST: ${others.join(' ')}`,
    );
  }
  const sources = {
    file: file === undefined ? {} : await readWorkerFile(file),
    environment: process.env,
    flags: fromFlags,
  };
  const { config, ignored } = await resolvedWorkerConfig(sources);
  const names = [sources.file, environmentConfig(process.env), fromFlags].map(source => source['group.id']);
  requireCluster(
    config,
    names.some(name => name !== undefined),
  );
  return runWorker(config, ignored, {
    host: reachableHost,
    start: options => DistributedHerder.start({ ...options, onFailed: options.onFatal }),
    started: async () => {},
  });
}

/** The default of `group.id` is for workers alone: nobody shall find himself in a cluster by it. */
function requireCluster(config: WorkerConfig, isNamed: boolean): void {
  if (config.broker.kind === 'embedded') {
    throw new ConnectError(
      'CONFIG_INVALID',
      'a cluster of workers needs a Kafka: set bootstrap.servers, or run millrace standalone for a single worker with its own broker',
    );
  }
  if (!isNamed) {
    throw new ConnectError('CONFIG_INVALID', 'Missing required configuration "group.id", which names the cluster.');
  }
  const [heartbeatMs, sessionMs] = [config['heartbeat.interval.ms'], config['session.timeout.ms']];
  if (heartbeatMs >= sessionMs) {
    throw new ConnectError(
      'CONFIG_INVALID',
      `heartbeat.interval.ms=${heartbeatMs} must be below session.timeout.ms=${sessionMs}, or workers count as gone`,
    );
  }
}

/** A worker that listens everywhere is known to the others by its machine's name. */
function reachableHost(config: WorkerConfig, listening: string): string {
  return ['0.0.0.0', '::'].includes(listenersOf(config).advertised.host) ? hostname() : listening;
}

function help(): string {
  return `usage: millrace worker [options] [worker.properties]

Runs one worker of a cluster: workers with the same bootstrap.servers and group.id share the connectors. The file may be .properties, .json or .yaml.
Precedence: flags, environment (CONNECT_GROUP_ID for group.id; _ = . __ = _ ___ = -), file, defaults.

options:
${workerFlagsHelp(flags)}

worker keys:
${workerKeysHelp(['data.dir', 'data.flush'])}`;
}
