/**
 * TLS of the REST API, by Kafka Connect's rule: the keys under `listeners.https.` where there is one, else the worker's own `ssl.*`. The same material serves
 * listeners, and requests to other workers of the cluster. Where there is a key under `admin.listeners.https.`, those hold for admin.listeners.
 */
import type { ConnectionOptions, TlsOptions } from 'node:tls';
import { ConnectError } from '../../schemas/errors.ts';
import { tlsMaterial } from './tlsSettings.ts';
import { type WorkerConfig, withPrefix } from './workerConfig.ts';

const prefix = 'listeners.https.';
const prefixes = { main: [prefix], admin: [`admin.${prefix}`, prefix] } as const;

type Tls = { readonly settings: Record<string, string>; readonly shown: string };

function settingsOf({ raw }: Pick<WorkerConfig, 'raw'>, kind: keyof typeof prefixes): Tls {
  for (const shown of prefixes[kind]) {
    const settings = withPrefix(raw, shown);
    if (Object.keys(settings).length > 0) return { settings, shown };
  }
  return { settings: { ...raw }, shown: '' };
}

/** Throws CONFIG_INVALID where a listener cannot be served. */
export function serverTls(config: Pick<WorkerConfig, 'raw'>, kind: 'main' | 'admin'): TlsOptions {
  const { settings, shown } = settingsOf(config, kind);
  const material = tlsMaterial(settings, 'CONFIG_INVALID', shown);
  if (material.pfx === undefined && material.key === undefined) {
    throw new ConnectError(
      'CONFIG_INVALID',
      `a listener with https:// needs a certificate: set ${shown || prefix}ssl.keystore.location to a PEM file with key and certificates, or a PKCS12 file`,
    );
  }
  const clientAuth = (settings['ssl.client.auth'] ?? 'none').trim().toLowerCase();
  if (!['none', 'requested', 'required'].includes(clientAuth)) {
    throw new ConnectError(
      'CONFIG_INVALID',
      `Invalid value ${clientAuth} for configuration ${shown}ssl.client.auth: String must be one of: none, requested, required`,
    );
  }
  return { ...material, requestCert: clientAuth !== 'none', rejectUnauthorized: clientAuth === 'required' };
}

/** For requests to other workers. */
export function clientTls(config: Pick<WorkerConfig, 'raw'>): ConnectionOptions {
  const { settings, shown } = settingsOf(config, 'main');
  const options: ConnectionOptions = tlsMaterial(settings, 'CONFIG_INVALID', shown);
  if (settings['ssl.endpoint.identification.algorithm']?.trim() === '') options.checkServerIdentity = () => undefined;
  return options;
}
