/** `millrace connectors`: the connectors of a worker or a cluster, for people who do not like curl. */
import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Config, ConnectError } from '../../api/index.ts';
import type { ConnectorInfo, ConnectorStateInfo } from '../../herder/herder.ts';
import type { ConfigInfos } from '../../herder/validation/configInfos.ts';
import { type ConnectorFile, readConnectorFile } from '../configFile.ts';
import { option, parseFlags } from '../flags.ts';
import { exitCodesHelp, exitFailed, RestClient, restFlags, restFlagsHelp } from '../restClient.ts';
import { table } from '../table.ts';

const help = `usage: millrace connectors <command> [options]

Shows and changes the connectors of a worker or a cluster, over the REST API of any of its workers.

commands:
${option('list', 'All connectors with their states.')}
${option('status <name>', 'A connector and its tasks, with the errors of those that failed.')}
${option('config <name>', 'The configuration of a connector, as JSON to be edited and applied.')}
${option('validate <file…>', 'Checks connector files (.properties, .json, .yaml), and changes nothing.')}
${option('create <file…>', 'Makes connectors; refused for a name that is there.')}
${option('apply <file…>', 'Makes connectors, or gives those that are there the configuration of the file.')}
${option('pause <name…>', 'Tasks stay where they are and wait.')}
${option('stop <name…>', 'Tasks end; needed before offsets are changed.')}
${option('resume <name…>', 'After pause or stop.')}
${option('restart <name…>', 'The connector alone; with --tasks its tasks, with --only-failed what has failed, with --task <n> one task.')}
${option('delete <name…>', 'For good. Offsets of a source stay, and are found again under the same name.')}
${option('offsets <name>', 'How far the connector has come, as JSON.')}
${option('offsets <name> --set <file>', 'Changes the offsets of a stopped connector; a file of the form that offsets writes.')}
${option('offsets <name> --reset', 'Makes a stopped connector begin anew.')}
${option('topics <name>', 'Topics that the connector has used.')}

options:
${option('--wait <seconds>', 'With create, apply, pause, stop, resume and restart: until connector and tasks are in the state. Exit code 3 where they fail.')}
${restFlagsHelp}

${exitCodesHelp}`;

interface Context {
  readonly client: RestClient;
  readonly flags: Readonly<Record<string, string | boolean | undefined>>;
}
type Command = (names: readonly string[], context: Context) => Promise<number>;

const path = (name: string, rest = ''): string => `/connectors/${encodeURIComponent(name)}${rest}`;
const print = (text: string): void => void process.stdout.write(text);
const printJson = (value: unknown): void => print(`${JSON.stringify(value, null, 2)}\n`);

export async function connectors(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseFlags(
    args,
    [],
    {
      ...restFlags,
      wait: { type: 'string' },
      tasks: { type: 'boolean' },
      'only-failed': { type: 'boolean' },
      task: { type: 'string' },
      set: { type: 'string' },
      reset: { type: 'boolean' },
    },
    false,
  );
  if (values.help === true) {
    print(`${help}\n`);
    return 0;
  }
  const [name = 'list', ...operands] = positionals;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) throw usage(`unknown command connectors ${name}`);
  if (name === 'list' ? operands.length > 0 : operands.length === 0) {
    throw usage(name === 'list' ? 'connectors list takes no names' : `connectors ${name}: a name or file is missing`);
  }
  if (['status', 'config', 'offsets', 'topics'].includes(name) && operands.length > 1) {
    throw usage(`connectors ${name} takes one name`);
  }
  return command(operands, { client: new RestClient(values, process.env), flags: values });
}

const commands: Readonly<Record<string, Command>> = {
  async list(_, { client, flags }) {
    const all = await client.request<Record<string, { status: ConnectorStateInfo; info: ConnectorInfo }>>(
      'GET',
      '/connectors?expand=status&expand=info',
    );
    if (flags.json === true) printJson(all);
    else {
      const rows = Object.entries(all)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, { status, info }]) => [
          name,
          status.type,
          status.connector.state,
          countStates(status.tasks.map(task => task.state)),
          info.config['connector.class'] ?? '',
        ]);
      print(table(['NAME', 'TYPE', 'STATE', 'TASKS', 'CLASS'], rows));
    }
    return 0;
  },

  async status([name], { client, flags }) {
    const status = await client.request<ConnectorStateInfo>('GET', path(name!, '/status'));
    if (flags.json === true) printJson(status);
    else print(statusText(status));
    return hasFailed(status) ? exitFailed : 0;
  },

  async config([name], { client }) {
    printJson(await client.request<Config>('GET', path(name!, '/config')));
    return 0;
  },

  async validate(files, { client, flags }) {
    let errors = 0;
    for (const { path: file, config } of await readAll(files)) {
      const found = await validate(client, config);
      errors += found.error_count;
      if (flags.json === true) printJson(found);
      else print(found.error_count === 0 ? `${file} is valid\n` : `${file}:\n${errorLines(found)}`);
    }
    return errors === 0 ? 0 : 1;
  },

  async create(files, context) {
    const all = await readAll(files);
    for (const { name, config, initialState } of all) {
      const state = initialState === null ? {} : { initial_state: initialState };
      await context.client.request('POST', '/connectors', { name, config, ...state });
      print(`${name} created\n`);
    }
    return settledAll(all, context);
  },

  async apply(files, context) {
    const { client } = context;
    const all = await readAll(files);
    for (const { name, config, initialState } of all) {
      const before = await client.find<Config>(path(name, '/config'));
      if (before === null) {
        const state = initialState === null ? {} : { initial_state: initialState };
        await client.request('POST', '/connectors', { name, config, ...state });
      } else if (!isDeepStrictEqual(before, config)) await client.request('PUT', path(name, '/config'), config);
      const done = before === null ? 'created' : isDeepStrictEqual(before, config) ? 'unchanged' : 'changed';
      print(`${name} ${done}\n`);
    }
    return settledAll(all, context);
  },

  pause: (names, context) => toState(names, 'pause', 'PAUSED', context),
  stop: (names, context) => toState(names, 'stop', 'STOPPED', context),
  resume: (names, context) => toState(names, 'resume', 'RUNNING', context),

  async restart(names, context) {
    const { client, flags } = context;
    for (const name of names) {
      if (typeof flags.task === 'string') {
        if (!/^\d+$/.test(flags.task)) throw usage(`--task ${flags.task}: expected the number of a task`);
        await client.request('POST', path(name, `/tasks/${flags.task}/restart`));
      } else {
        const query = `includeTasks=${flags.tasks === true}&onlyFailed=${flags['only-failed'] === true}`;
        await client.request('POST', path(name, `/restart?${query}`));
      }
      print(`${name} restarted\n`);
    }
    return settled(names, 'RUNNING', context);
  },

  async delete(names, { client }) {
    for (const name of names) {
      await client.request('DELETE', path(name));
      print(`${name} deleted\n`);
    }
    return 0;
  },

  async offsets([name], { client, flags }) {
    const place = path(name!, '/offsets');
    if (typeof flags.set === 'string') {
      const wanted: unknown = JSON.parse(await readFile(flags.set, 'utf8'));
      print(`${(await client.request<{ message: string }>('PATCH', place, wanted)).message}\n`);
    } else if (flags.reset === true) {
      print(`${(await client.request<{ message: string }>('DELETE', place)).message}\n`);
    } else printJson(await client.request('GET', place));
    return 0;
  },

  async topics([name], { client, flags }) {
    const answer = await client.request<Record<string, { topics: string[] }>>('GET', path(name!, '/topics'));
    if (flags.json === true) printJson(answer);
    else print((answer[name!]?.topics ?? []).map(topic => `${topic}\n`).join(''));
    return 0;
  },
};

const readAll = (files: readonly string[]): Promise<ConnectorFile[]> => Promise.all(files.map(readConnectorFile));

function validate(client: RestClient, config: Config): Promise<ConfigInfos> {
  const plugin = config['connector.class']?.split('.').at(-1);
  if (plugin === undefined) throw new ConnectError('CONFIG_INVALID', `${config.name} has no connector.class`);
  return client.request<ConfigInfos>('PUT', `/connector-plugins/${encodeURIComponent(plugin)}/config/validate`, config);
}

function errorLines({ configs }: ConfigInfos): string {
  return configs.flatMap(({ value }) => value.errors.map(error => `  ${value.name}: ${error}\n`)).join('');
}

async function toState(
  names: readonly string[],
  verb: string,
  state: 'PAUSED' | 'STOPPED' | 'RUNNING',
  context: Context,
): Promise<number> {
  for (const name of names) {
    await context.client.request('PUT', path(name, `/${verb}`));
    print(`${name} ${{ PAUSED: 'pauses', STOPPED: 'stops', RUNNING: 'resumes' }[state]}\n`);
  }
  return settled(names, state, context);
}

function settledAll(files: readonly ConnectorFile[], context: Context): Promise<number> {
  const started = files.filter(({ initialState }) => initialState === null || initialState === 'RUNNING');
  return settled(
    started.map(({ name }) => name),
    'RUNNING',
    context,
  );
}

const pollMs = 250;

/** Waits, where that is asked for. A source that has just been made has no task for a moment. */
async function settled(names: readonly string[], wanted: string, { client, flags }: Context): Promise<number> {
  if (flags.wait === undefined) return 0;
  const seconds = Number(flags.wait);
  if (!(seconds > 0)) throw usage(`--wait ${String(flags.wait)}: expected seconds`);
  const deadline = Date.now() + seconds * 1000;
  for (const name of names) {
    for (;;) {
      const status = await client.find<ConnectorStateInfo>(path(name, '/status'));
      if (status !== null) {
        const states = [status.connector.state, ...status.tasks.map(task => task.state)];
        const isWhole = wanted === 'STOPPED' ? status.tasks.length === 0 : status.tasks.length > 0;
        if (isWhole && states.every(state => state === wanted)) break;
        if (hasFailed(status)) {
          process.stderr.write(statusText(status));
          return exitFailed;
        }
      }
      if (Date.now() > deadline) {
        const found = status === null ? 'has no status yet' : `is ${status.connector.state}`;
        throw new ConnectError(
          'CLI_REQUEST_FAILED',
          `${name} ${found}, and not ${wanted} with its tasks, after ${seconds} s`,
        );
      }
      await wait(pollMs);
    }
  }
  return 0;
}

const hasFailed = ({ connector, tasks }: ConnectorStateInfo): boolean =>
  connector.state === 'FAILED' || tasks.some(task => task.state === 'FAILED');

/** `2 RUNNING, 1 FAILED`. */
function countStates(states: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, count]) => `${count} ${state}`).join(', ') || '0';
}

function statusText({ name, type, connector, tasks }: ConnectorStateInfo): string {
  const rows = [
    [`${name} (${type})`, connector.state, connector.worker_id],
    ...tasks.map(task => [`  task ${task.id}`, task.state, task.worker_id]),
  ];
  const traces = [{ what: name, trace: connector.trace }, ...tasks.map(t => ({ what: `task ${t.id}`, trace: t.trace }))]
    .filter(({ trace }) => trace !== undefined && trace !== '')
    .map(({ what, trace }) => `\n${what}:\n${trace!.trimEnd()}\n`);
  return table(['NAME', 'STATE', 'WORKER'], rows) + traces.join('');
}

const usage = (message: string): ConnectError =>
  new ConnectError('CLI_USAGE', `${message}; see millrace connectors --help`);
