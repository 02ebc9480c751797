/**
 * TLS by Kafka's keys: `ssl.keystore.*`, `ssl.truststore.*` and the like, as Node takes it. Stores are PEM, in files or in the configuration itself, or for
 * keys PKCS12, which is what keytool makes; what a file is, is read from the file. Files are read here, once.
 */
import { readFileSync } from 'node:fs';
import type { SecureVersion, TlsOptions } from 'node:tls';
import { ConnectError } from '../../schemas/errors.ts';
import type { ErrorCode } from '../api/index.ts';

type Settings = Readonly<Record<string, string>>;
/** Common to both ends of a connection. */
export type TlsMaterial = Pick<
  TlsOptions,
  'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'ciphers' | 'minVersion' | 'maxVersion'
>;
type Store = 'ssl.truststore' | 'ssl.keystore';

/** `prefix` is shown in errors, before the key. Throws `code`. */
export function tlsMaterial(settings: Settings, code: ErrorCode, prefix = ''): TlsMaterial {
  const material: TlsMaterial = {};
  const invalid = (key: string, value: string, why: string): ConnectError =>
    new ConnectError(code, `Invalid value ${value} for configuration ${prefix}${key}: ${why}.`);
  const read = (store: Store): Buffer | null => {
    const location = settings[`${store}.location`];
    if (location === undefined) return null;
    let content: Buffer;
    try {
      content = readFileSync(location);
    } catch (error) {
      const message = `${prefix}${store}.location: cannot read ${location}: ${(error as Error).message}.`;
      throw new ConnectError(code, message, { cause: error });
    }
    if (isPem(content) || (isPkcs12(content) && store === 'ssl.keystore')) return content;
    const found = isPkcs12(content) ? 'PKCS12' : content.readUInt32BE(0) === jksMagic ? 'JKS' : 'what is in the file';
    const advice =
      store === 'ssl.keystore'
        ? 'convert it by keytool -importkeystore -deststoretype PKCS12'
        : 'export the certificates by keytool -exportcert -rfc';
    throw invalid(
      `${store}.location`,
      location,
      `only PEM${store === 'ssl.keystore' ? ' and PKCS12' : ''} files are read, not ${found}; ${advice}`,
    );
  };

  const trust = read('ssl.truststore')?.toString('latin1') ?? settings['ssl.truststore.certificates'];
  if (trust !== undefined) material.ca = trust;
  const keystore = read('ssl.keystore');
  if (keystore !== null && !isPem(keystore)) {
    material.pfx = keystore;
    const password = settings['ssl.keystore.password'];
    if (password !== undefined) material.passphrase = password;
  } else {
    const text = keystore?.toString('latin1');
    const cert = text ?? settings['ssl.keystore.certificate.chain'];
    const key = text ?? settings['ssl.keystore.key'];
    if (cert !== undefined && key !== undefined) Object.assign(material, { cert, key });
    const password = settings['ssl.key.password'];
    if (password !== undefined) material.passphrase = password;
  }
  const ciphers = settings['ssl.cipher.suites']?.trim();
  if (ciphers) material.ciphers = ciphers.split(/\s*,\s*/).join(':');
  const protocols = settings['ssl.enabled.protocols']?.trim();
  if (protocols) {
    const wanted = protocols.split(/\s*,\s*/);
    const stranger = wanted.find(name => !(versions as readonly string[]).includes(name));
    if (stranger !== undefined)
      throw invalid('ssl.enabled.protocols', protocols, `each must be one of ${versions.join(', ')}`);
    const known = versions.filter(name => wanted.includes(name));
    material.minVersion = known[0]!;
    material.maxVersion = known.at(-1)!;
  }
  return material;
}

const versions: readonly SecureVersion[] = ['TLSv1.2', 'TLSv1.3'];
const jksMagic = 0xfeedfeed;

const isPem = (content: Buffer): boolean => content.includes('-----BEGIN');

/** A DER sequence, long enough to have its length in two bytes or more. */
const isPkcs12 = (content: Buffer): boolean => content[0] === 0x30 && (content[1]! & 0x80) !== 0;
