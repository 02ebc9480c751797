/** `millrace cluster`: the workers of a cluster as one of them knows them, and log levels. */
import { ConnectError } from '../../api/index.ts';
import type { ConnectorStateInfo } from '../../herder/herder.ts';
import { option, parseFlags } from '../flags.ts';
import { exitCodesHelp, exitFailed, RestClient, restFlags, restFlagsHelp } from '../restClient.ts';
import { table } from '../table.ts';

const help = `usage: millrace cluster [command] [options]

Shows a cluster, as one of its workers knows it.

commands:
${option('status', 'Version, health, and what each worker runs. The command where none is given.')}
${option('plugins', 'Plugins of the worker that is asked, with their versions.')}
${option('log-level', 'Levels of all loggers of the worker that is asked.')}
${option('log-level <logger> <level>', 'Sets a level: of root, or of connector.<name>; on all workers, until they are started anew.')}

options:
${restFlagsHelp}

${exitCodesHelp}`;

const print = (text: string): void => void process.stdout.write(text);
const printJson = (value: unknown): void => print(`${JSON.stringify(value, null, 2)}\n`);

export async function cluster(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseFlags(args, [], restFlags, false);
  if (values.help === true) {
    print(`${help}\n`);
    return 0;
  }
  const client = new RestClient(values, process.env);
  const isJson = values.json === true;
  const [command = 'status', ...operands] = positionals;
  if (command === 'status' && operands.length === 0) return status(client, isJson);
  if (command === 'plugins' && operands.length === 0) return plugins(client, isJson);
  if (command === 'log-level' && (operands.length === 0 || operands.length === 2)) return logLevel(client, operands);
  throw new ConnectError('CLI_USAGE', `cluster ${positionals.join(' ')} is no command; see millrace cluster --help`);
}

interface Root {
  readonly version: string;
  readonly kafka_cluster_id: string;
}

async function status(client: RestClient, isJson: boolean): Promise<number> {
  const root = await client.request<Root>('GET', '/');
  const all = await client.request<Record<string, { status: ConnectorStateInfo }>>('GET', '/connectors?expand=status');
  const parts = Object.values(all).flatMap(({ status: { connector, tasks } }) => [
    { kind: 'connectors' as const, state: connector.state, worker: connector.worker_id },
    ...tasks.map(task => ({ kind: 'tasks' as const, state: task.state, worker: task.worker_id })),
  ]);
  const failed = parts.filter(({ state }) => state === 'FAILED').length;
  const workers = [...new Set(parts.map(({ worker }) => worker))].sort().map(worker => {
    const own = parts.filter(part => part.worker === worker && part.state !== 'UNASSIGNED');
    const count = (matches: (part: (typeof parts)[number]) => boolean): number => own.filter(matches).length;
    return {
      worker,
      connectors: count(({ kind }) => kind === 'connectors'),
      tasks: count(({ kind }) => kind === 'tasks'),
      failed: count(({ state }) => state === 'FAILED'),
      restarting: count(({ state }) => state === 'RESTARTING'),
    };
  });
  const unassigned = parts.filter(({ state }) => state === 'UNASSIGNED').length;
  if (isJson) printJson({ ...root, workers, unassigned });
  else {
    print(`version ${root.version}, Kafka cluster ${root.kafka_cluster_id}\n\n`);
    const rows = workers.map(({ worker, connectors, tasks, failed: broken, restarting }) =>
      [worker, connectors, tasks, broken, restarting].map(String),
    );
    print(table(['WORKER', 'CONNECTORS', 'TASKS', 'FAILED', 'RESTARTING'], rows));
    print('\nWorkers that run nothing are not known to the API.\n');
    if (unassigned > 0) print(`${unassigned} connectors and tasks run nowhere at the moment.\n`);
  }
  return failed > 0 ? exitFailed : 0;
}

async function plugins(client: RestClient, isJson: boolean): Promise<number> {
  const all = await client.request<readonly { class: string; type: string; version: string }[]>(
    'GET',
    '/connector-plugins?connectorsOnly=false',
  );
  if (isJson) printJson(all);
  else {
    print(
      table(
        ['TYPE', 'CLASS', 'VERSION'],
        all.map(plugin => [plugin.type, plugin.class, plugin.version]),
      ),
    );
  }
  return 0;
}

async function logLevel(client: RestClient, [logger, level]: readonly string[]): Promise<number> {
  if (logger === undefined) {
    const all = await client.request<Record<string, { level: string }>>('GET', '/admin/loggers');
    print(
      table(
        ['LOGGER', 'LEVEL'],
        Object.entries(all).map(([name, { level: of }]) => [name, of]),
      ),
    );
    return 0;
  }
  await client.request('PUT', `/admin/loggers/${encodeURIComponent(logger)}?scope=cluster`, { level });
  print(`${logger} is at ${level!.toUpperCase()} on all workers\n`);
  return 0;
}
