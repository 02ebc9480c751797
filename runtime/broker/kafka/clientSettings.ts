/** Client settings by Kafka's names, parsed: how to reach and to trust the cluster, and how patient to be. Files are read here, once. */
import type { ConnectionOptions } from 'node:tls';
import type { SaslOptions } from 'kafkajs/src/network/connection.js';
import { ConnectError } from '../../../schemas/errors.ts';
import { tlsMaterial } from '../../config/tlsSettings.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface ClientSettings {
  readonly bootstrap: readonly Address[];
  readonly clientId: string;
  readonly ssl: ConnectionOptions | null;
  readonly sasl: SaslOptions | null;
  readonly requestTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly retryBackoffMs: number;
  readonly retryBackoffMaxMs: number;
  readonly metadataMaxAgeMs: number;
}

type Settings = Readonly<Record<string, string>>;

/** Keys that decide about connections: a producer or consumer that overrides one of them needs connections to a cluster of its own. */
export const connectionKeys: ReadonlySet<string> = new Set([
  'bootstrap.servers',
  'client.id',
  'security.protocol',
  'sasl.mechanism',
  'sasl.jaas.config',
  'ssl.truststore.type',
  'ssl.truststore.location',
  'ssl.truststore.certificates',
  'ssl.truststore.password',
  'ssl.keystore.type',
  'ssl.keystore.location',
  'ssl.keystore.certificate.chain',
  'ssl.keystore.key',
  'ssl.keystore.password',
  'ssl.key.password',
  'ssl.endpoint.identification.algorithm',
  'ssl.enabled.protocols',
  'ssl.cipher.suites',
  'request.timeout.ms',
  'socket.connection.setup.timeout.ms',
  'retry.backoff.ms',
  'retry.backoff.max.ms',
  'reconnect.backoff.ms',
  'reconnect.backoff.max.ms',
  'metadata.max.age.ms',
]);

export function parseClientSettings(settings: Settings): ClientSettings {
  const protocol = (settings['security.protocol'] ?? 'PLAINTEXT').trim().toUpperCase();
  if (!['PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL'].includes(protocol))
    throw invalid('security.protocol', protocol, 'it must be PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL');
  return {
    bootstrap: parseAddresses(settings['bootstrap.servers'] ?? ''),
    clientId: settings['client.id'] ?? 'millrace',
    ssl: protocol.endsWith('SSL') ? parseSsl(settings) : null,
    sasl: protocol.startsWith('SASL') ? parseSasl(settings) : null,
    requestTimeoutMs: millis(settings, 'request.timeout.ms', 30_000),
    connectTimeoutMs: millis(settings, 'socket.connection.setup.timeout.ms', 10_000),
    retryBackoffMs: millis(settings, 'retry.backoff.ms', 100),
    retryBackoffMaxMs: millis(settings, 'retry.backoff.max.ms', 1000),
    metadataMaxAgeMs: millis(settings, 'metadata.max.age.ms', 300_000),
  };
}

export function parseAddresses(list: string): Address[] {
  const addresses = list
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '')
    .map(entry => {
      // PLAINTEXT://host:port is what brokers' own settings say, and what people paste.
      const match = /^(?:[A-Za-z_]+:\/\/)?(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(entry);
      if (match === null) throw invalid('bootstrap.servers', entry, 'each entry must be host:port');
      return { host: (match[1] ?? match[2])!, port: Number(match[3]) };
    });
  if (addresses.length === 0) throw invalid('bootstrap.servers', list, 'at least one host:port is needed');
  return addresses;
}

export function invalid(key: string, value: string, why: string): ConnectError {
  return new ConnectError('BROKER_CONFIG_INVALID', `Invalid value ${value} for configuration ${key}: ${why}.`);
}

export function millis(settings: Settings, key: string, byDefault: number): number {
  const text = settings[key]?.trim();
  if (text === undefined) return byDefault;
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value))
    throw invalid(key, text, 'it must be a whole number, not negative');
  return value;
}

function parseSasl(settings: Settings): SaslOptions {
  const mechanism = (settings['sasl.mechanism'] ?? 'GSSAPI').trim().toUpperCase();
  if (!['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'].includes(mechanism))
    throw invalid('sasl.mechanism', mechanism, 'it must be PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512');
  const jaas = settings['sasl.jaas.config'];
  if (jaas === undefined)
    throw new ConnectError(
      'BROKER_CONFIG_INVALID',
      'sasl.jaas.config is missing; security.protocol asks for SASL, and the user name and password stand there.',
    );
  const username = jaasOption(jaas, 'username');
  const password = jaasOption(jaas, 'password');
  if (username === null || password === null)
    throw invalid(
      'sasl.jaas.config',
      '[hidden]',
      'it must hold username="…" and password="…", and end with a semicolon',
    );
  return { mechanism: mechanism.toLowerCase(), username, password };
}

/** One option of a JAAS entry: `… LoginModule required username="u" password="p";`. */
export function jaasOption(jaas: string, name: string): string | null {
  const match = new RegExp(`\\s${name}\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|'([^']*)'|([^\\s;"']+))`).exec(jaas);
  if (match === null) return null;
  return match[1]?.replace(/\\(.)/g, '$1') ?? match[2] ?? match[3] ?? null;
}

function parseSsl(settings: Settings): ConnectionOptions {
  const ssl: ConnectionOptions = tlsMaterial(settings, 'BROKER_CONFIG_INVALID');
  // Kafka's way to say that the name in the certificate is not to be compared with the host.
  if (settings['ssl.endpoint.identification.algorithm']?.trim() === '') ssl.checkServerIdentity = () => undefined;
  return ssl;
}
