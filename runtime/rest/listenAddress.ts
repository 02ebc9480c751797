/** Where the REST server listens: `listeners` in Kafka Connect's form, else `listen`. */
import { ConnectError } from '../api/index.ts';
import type { WorkerConfig } from '../config/workerConfig.ts';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** A host that others can use in a URL. */
  readonly shown: string;
}

export function listenAddress(config: Pick<WorkerConfig, 'listeners' | 'listen'>): ListenAddress {
  const [listener, ...others] = config.listeners;
  if (listener === undefined) return parse(config.listen, 'listen', config.listen);
  if (others.length > 0) throw invalid('listeners', config.listeners.join(','), 'one listener is supported');
  const [, scheme, rest] = /^([a-z]+):\/\/(.*?)\/*$/i.exec(listener) ?? [];
  if (scheme === undefined) throw invalid('listeners', listener, 'expected http://host:port');
  if (scheme.toLowerCase() !== 'http') {
    throw invalid('listeners', listener, 'only http is served; put a proxy in front for TLS');
  }
  return parse(rest!, 'listeners', listener);
}

function parse(text: string, key: string, given: string): ListenAddress {
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
