/** Java's default partitioner: murmur2 of the key bytes, so that equal keys meet in one partition whichever client wrote them. */

export function partitionForKey(bytes: Uint8Array, start: number, end: number, partitionCount: number): number {
  return (murmur2(bytes, start, end) & 0x7fff_ffff) % partitionCount;
}

/** MurmurHash2, 32 bits, with Kafka's seed. */
export function murmur2(bytes: Uint8Array, start: number, end: number): number {
  const m = 0x5bd1e995;
  const length = end - start;
  let hash = 0x9747b28c ^ length;
  let i = start;
  for (const whole = start + (length & ~3); i < whole; i += 4) {
    let k = bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24);
    k = Math.imul(k, m);
    k ^= k >>> 24;
    hash = Math.imul(hash, m) ^ Math.imul(k, m);
  }
  const rest = end - i;
  if (rest === 3) hash ^= bytes[i + 2] << 16;
  if (rest >= 2) hash ^= bytes[i + 1] << 8;
  if (rest >= 1) hash = Math.imul(hash ^ bytes[i], m);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, m);
  return hash ^ (hash >>> 15);
}
