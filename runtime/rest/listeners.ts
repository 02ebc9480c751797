/** Where the REST server listens: `listeners`, `admin.listeners` and `read.only.listeners` in Kafka Connect's form, else `listen`. */
import { ConnectError } from '../api/index.ts';
import type { WorkerConfig } from '../config/workerConfig.ts';

export type Scheme = 'http' | 'https';

export interface Listener {
  readonly scheme: Scheme;
  readonly host: string;
  readonly port: number;
  /** A host that others can use in a URL. */
  readonly shown: string;
}

export interface Listeners {
  readonly main: readonly Listener[];
  /** Empty: /admin has no address of its own. */
  readonly admin: readonly Listener[];
  readonly readOnly: readonly Listener[];
  /** Of `main`: where other workers and users are sent. */
  readonly advertised: Listener;
}

type Keys = 'listeners' | 'listen' | 'admin.listeners' | 'read.only.listeners' | 'rest.advertised.listener';

export function listenersOf(config: Pick<WorkerConfig, Keys>): Listeners {
  const main =
    config.listeners.length === 0
      ? [{ scheme: 'http', ...address(config.listen, 'listen', config.listen) } as const]
      : config.listeners.map(text => listener(text, 'listeners'));
  const wanted = config['rest.advertised.listener'];
  // As Kafka Connect chooses.
  const advertised =
    main.find(({ scheme }) => scheme === (wanted ?? 'http')) ?? (wanted === null ? main[0] : undefined);
  if (advertised === undefined) {
    throw invalid('rest.advertised.listener', wanted!, `listeners has no address with ${wanted}://`);
  }
  const found: Listeners = {
    main,
    admin: list(config['admin.listeners'] ?? '').map(text => listener(text, 'admin.listeners')),
    readOnly: config['read.only.listeners'].map(text => listener(text, 'read.only.listeners')),
    advertised,
  };
  const taken = new Set<string>();
  for (const { host, port } of [...found.main, ...found.admin, ...found.readOnly]) {
    if (port !== 0 && taken.has(`${host} ${port}`))
      throw invalid('listeners', `${host}:${port}`, 'each listener needs an address of its own');
    taken.add(`${host} ${port}`);
  }
  return found;
}

const list = (text: string): string[] =>
  text
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '');

function listener(text: string, key: string): Listener {
  const [, scheme, rest] = /^(https?):\/\/(.*?)\/*$/i.exec(text) ?? [];
  if (scheme === undefined) throw invalid(key, text, 'expected http://host:port or https://host:port');
  return { scheme: scheme.toLowerCase() as Scheme, ...address(rest!, key, text) };
}

function address(text: string, key: string, given: string): Omit<Listener, 'scheme'> {
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  if (port === undefined || Number(port) > 65_535) throw invalid(key, given, 'expected host:port');
  const host = bracketed ?? plain ?? '';
  const everywhere = host === '' || host === '0.0.0.0' || host === '::';
  return {
    host: host === '' ? '0.0.0.0' : host,
    port: Number(port),
    shown: everywhere ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host,
  };
}

function invalid(key: string, value: string, why: string): ConnectError {
  return new ConnectError('CONFIG_INVALID', `Invalid value ${value} for configuration ${key}: ${why}`);
}
