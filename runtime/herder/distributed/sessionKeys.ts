/** Signatures of requests between workers (KIP-507): an HMAC of the body by the key that the leader keeps in the config topic. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { hmacHashes, type SignatureAlgorithm } from '../../config/signatureAlgorithms.ts';
import type { SessionKey } from '../stores/configState.ts';

const keyBytes: Readonly<Record<SignatureAlgorithm, number>> = {
  HmacSHA1: 64,
  HmacSHA256: 32,
  HmacSHA384: 48,
  HmacSHA512: 64,
};

/** `keyBits` null = as many as Java takes. */
export function newSessionKey(algorithm: SignatureAlgorithm, keyBits: number | null, nowMs: number): SessionKey {
  const bytes = keyBits === null ? keyBytes[algorithm] : Math.ceil(keyBits / 8);
  return { key: randomBytes(bytes), algorithm, createdMs: nowMs };
}

/** The algorithm is that of the request; the key's own says how it was made. */
export function sign({ key }: SessionKey, algorithm: SignatureAlgorithm, body: Buffer): string {
  return createHmac(hmacHashes[algorithm], key).update(body).digest('base64');
}

export function isSignedBy(key: SessionKey, algorithm: SignatureAlgorithm, body: Buffer, signature: string): boolean {
  const [given, wanted] = [signature, sign(key, algorithm, body)].map(text => Buffer.from(text, 'base64'));
  return given!.length === wanted!.length && timingSafeEqual(given!, wanted!);
}
