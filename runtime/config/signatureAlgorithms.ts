/** How workers of a cluster can sign what they send each other: HMACs by Java's names, with the names of their hashes. */
export const hmacHashes = {
  HmacSHA1: 'sha1',
  HmacSHA256: 'sha256',
  HmacSHA384: 'sha384',
  HmacSHA512: 'sha512',
} as const;

export type SignatureAlgorithm = keyof typeof hmacHashes;

export const signatureAlgorithms = Object.keys(hmacHashes) as readonly SignatureAlgorithm[];
