#!/usr/bin/env node
/** The command `millrace`. Loads only what a command needs; every error is one line with its code, and exit code 1 (2 for a wrong command line). */
import { ConnectError } from '../../schemas/errors.ts';

const usage = `usage: millrace <command> [options]

Connector workers for change data: Kafka Connect's REST API and configuration in one Node.js process.

commands:
  standalone [worker.properties] [connector files…]   runs a worker
  worker [worker.properties]                          runs a worker of a cluster
  connectors list | status | apply | …                shows and changes the connectors of a worker or a cluster
  cluster                                             shows the workers of a cluster and what they run
  topics list                                         lists topics
  topics tail <topic>                                 shows records of a topic
  plugins [class]                                     lists plugins, or the keys of one
  new connector <name>                                writes a connector to start from
  firebird journal <segment…>                         shows segments of a Firebird journal

  --help, -h                                          help; also after a command
  --version                                           version`;

async function main(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args;
  switch (command) {
    case 'standalone':
      return (await import('./commands/standalone.ts')).standalone(rest);
    case 'worker':
      return (await import('./commands/worker.ts')).worker(rest);
    case 'connectors':
      return (await import('./commands/connectors.ts')).connectors(rest);
    case 'cluster':
      return (await import('./commands/cluster.ts')).cluster(rest);
    case 'new':
      return (await import('./commands/newConnector.ts')).newPlugin(rest);
    case 'topics':
      return (await import('./commands/topics.ts')).topics(rest);
    case 'plugins':
      return (await import('./commands/plugins.ts')).plugins(rest);
    case 'firebird':
      return (await import('./commands/firebird.ts')).firebird(rest);
    case '--version':
    case '-v': {
      const { version } = await import('../config/version.ts');
      process.stdout.write(`${version}\n`);
      return 0;
    }
    case 'help':
    case '--help':
    case '-h':
      process.stdout.write(`${usage}\n`);
      return 0;
    default: {
      const problem = command === undefined ? 'a command is missing' : `unknown command ${command}`;
      throw new ConnectError('CLI_USAGE', `${problem}; see millrace --help`);
    }
  }
}

function fail(error: unknown): never {
  if (error instanceof ConnectError) {
    process.stderr.write(`millrace: ${error.describe()}\n`);
    process.exit(error.code === 'CLI_USAGE' ? 2 : 1);
  }
  process.stderr.write(`millrace: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
}

try {
  process.exit(await main(process.argv.slice(2)));
} catch (error) {
  fail(error);
}
