/** Signatures of requests between workers (KIP-507): an HMAC of the body by the key that the leader keeps in the config topic. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { SessionKey } from '../stores/configState.ts';

/** Java's name, by which keys and signatures say what they are. */
export const signatureAlgorithm = 'HmacSHA256';
const keyBytes = 32;

export function newSessionKey(nowMs: number): SessionKey {
  return { key: randomBytes(keyBytes), algorithm: signatureAlgorithm, createdMs: nowMs };
}

export function sign({ key }: SessionKey, body: Buffer): string {
  return createHmac('sha256', key).update(body).digest('base64');
}

export function isSignedBy(sessionKey: SessionKey, body: Buffer, signature: string): boolean {
  const [given, wanted] = [Buffer.from(signature, 'base64'), Buffer.from(sign(sessionKey, body), 'base64')];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}
