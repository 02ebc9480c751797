/**
 * TLS of the REST API, by Kafka Connect's rule: the keys under `listeners.https.` where there is one, else the worker's own `ssl.*`. The same material serves
 * listeners, and requests to other workers of the cluster.
 */
import type { ConnectionOptions, TlsOptions } from 'node:tls';
import { ConnectError } from '../../schemas/errors.ts';
import { tlsMaterial } from './tlsSettings.ts';
import { type WorkerConfig, withPrefix } from './workerConfig.ts';

const prefix = 'listeners.https.';

function settingsOf(config: Pick<WorkerConfig, 'raw'>): { settings: Record<string, string>; shown: string } {
  const own = withPrefix(config.raw, prefix);
  return Object.keys(own).length > 0 ? { settings: own, shown: prefix } : { settings: { ...config.raw }, shown: '' };
}

/** Throws CONFIG_INVALID where a listener cannot be served. */
export function serverTls(config: Pick<WorkerConfig, 'raw'>): TlsOptions {
  const { settings, shown } = settingsOf(config);
  const material = tlsMaterial(settings, 'CONFIG_INVALID', shown);
  if (material.pfx === undefined && material.key === undefined) {
    throw new ConnectError(
      'CONFIG_INVALID',
      `a listener with https:// needs a certificate: set ${prefix}ssl.keystore.location to a PEM file with key and certificates, or a PKCS12 file`,
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
  const { settings, shown } = settingsOf(config);
  const options: ConnectionOptions = tlsMaterial(settings, 'CONFIG_INVALID', shown);
  if (settings['ssl.endpoint.identification.algorithm']?.trim() === '') options.checkServerIdentity = () => undefined;
  return options;
}
