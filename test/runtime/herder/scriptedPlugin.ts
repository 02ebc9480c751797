/** A source whose connector and tasks fail as a test says. State is shared through the module: for workers with task.threads=0. */
import { setTimeout as wait } from 'node:timers/promises';
import { type Config, ConnectError, configDef, type Plugin } from '../../../runtime/api/index.ts';

export interface Script {
  /** Errors of the next starts of a task, in order; then it runs. */
  taskErrors: unknown[];
  connectorErrors: unknown[];
  taskStarts: Config[];
  connectorStops: number;
  taskCount: number;
}

const pollMs = 10;
const scripts = new Map<string, Script>();

export function scriptOf(name: string): Script {
  let script = scripts.get(name);
  if (script === undefined) {
    scripts.set(
      name,
      (script = { taskErrors: [], connectorErrors: [], taskStarts: [], connectorStops: 0, taskCount: 1 }),
    );
  }
  return script;
}

/** What the provider `test.LeaseProvider` gives. */
export const lease = { value: 'first', ttlMs: 20, asked: 0, error: null as Error | null };

const definition = configDef({
  mode: { type: 'STRING', default: 'a', oneOf: ['a', 'b'], importance: 'LOW', documentation: 'Anything.' },
  secret: { type: 'PASSWORD', default: null, importance: 'LOW', documentation: 'Never shown.' },
});

export const plugins: readonly Plugin[] = [
  {
    kind: 'config_provider',
    className: 'test.LeaseProvider',
    aliases: [],
    version: '1.0.0',
    configDef: configDef({}),
    create: () => ({
      configure() {},
      async get(_path, keys) {
        lease.asked++;
        if (lease.error !== null) throw lease.error;
        return { values: new Map(keys.map(key => [key, lease.value])), ttlMs: lease.ttlMs };
      },
    }),
  },
  {
    kind: 'source',
    className: 'test.ScriptedConnector',
    aliases: [],
    version: '1.2.3',
    configDef: definition,
    validate: config =>
      config.mode === 'b' && config.secret === undefined
        ? [{ key: 'secret', message: 'secret is needed with mode b' }]
        : [],
    createConnector() {
      let script: Script;
      let config: Config;
      return {
        start(given, context) {
          config = given;
          script = scriptOf(context.connectorName);
          const error = script.connectorErrors.shift();
          if (error !== undefined) throw error;
        },
        taskConfigs: () => Array.from({ length: script.taskCount }, (_, i) => ({ ...config, index: String(i) })),
        stop() {
          script.connectorStops++;
        },
      };
    },
    createTask() {
      let signal: AbortSignal;
      return {
        async start(config, context) {
          signal = context.signal;
          const script = scriptOf(context.connectorName);
          script.taskStarts.push(config);
          const error = script.taskErrors.shift();
          if (error !== undefined) throw error;
        },
        async poll() {
          await wait(pollMs, undefined, { signal }).catch(() => undefined);
          return [];
        },
        async stop() {},
      };
    },
  },
];

export const retriable = (): ConnectError =>
  new ConnectError('BROKER_UNREACHABLE', 'the database is away', { retriable: true });
