/** TLS as the client takes it, from PEM and PKCS12 files. */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { ConnectError } from '../../runtime/api/index.ts';
import type { SinkValues } from './config.ts';

const TRUSTSTORE = 'elastic.https.ssl.truststore.location';
const KEYSTORE = 'elastic.https.ssl.keystore.location';
/** What a JKS file begins with. */
const JKS_MAGIC = 0xfeedfeed;

/** Throws CONFIG_INVALID where a file cannot be used. */
export function tlsOptions(values: SinkValues): ConnectionOptions {
  const truststore = values[TRUSTSTORE];
  const keystore = values[KEYSTORE];
  return {
    ...(truststore === null ? {} : { ca: pemFile(TRUSTSTORE, truststore) }),
    ...(keystore === null ? {} : ownCertificate(keystore, values['elastic.https.ssl.keystore.password']?.reveal())),
    ...(values['connection.trust.all.certificates'] ? { rejectUnauthorized: false } : {}),
    ...(values['elastic.https.ssl.endpoint.identification.algorithm'] === ''
      ? { checkServerIdentity: () => undefined }
      : {}),
  };
}

function ownCertificate(path: string, passphrase: string | undefined): ConnectionOptions {
  const file = read(KEYSTORE, path);
  if (isPem(file)) return { cert: file, key: file, passphrase };
  if (file.length > 4 && file.readUInt32BE(0) === JKS_MAGIC)
    throw invalid(KEYSTORE, `${path} is a JKS file; convert it with keytool -importkeystore -deststoretype PKCS12`);
  return { pfx: file, passphrase };
}

function pemFile(key: string, path: string): Buffer {
  const file = read(key, path);
  if (!isPem(file))
    throw invalid(key, `${path} is no PEM file; convert it with keytool -exportcert -rfc, or openssl pkcs12 -nokeys`);
  return file;
}

const isPem = (file: Buffer): boolean => file.includes('-----BEGIN ');

function read(key: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw invalid(key, `${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

const invalid = (key: string, why: string): ConnectError =>
  new ConnectError('CONFIG_INVALID', `Invalid value for configuration ${key}: ${why}`);
