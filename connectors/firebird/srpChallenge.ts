/**
 * node-firebird 2.17.1 looks for the server's key in a login challenge at a multiple of four bytes, where it lies only behind a salt of full length. Firebird writes
 * the salt as hexadecimal text without leading zeros, so that one user in 16 could never log in. Here the challenge is put in the form that the client reads.
 */
const SALT_HEX = /^[0-9A-F]+$/i;
const LENGTH_BYTES = 2;

/** A challenge (length and text of the salt, length and text of the key) with the key where the client looks; other bytes as they are. */
export function alignSrpChallenge(bytes: Buffer): Buffer {
  if (bytes.length < 2 * LENGTH_BYTES) return bytes;
  const saltEnd = LENGTH_BYTES + bytes.readUInt16LE(0);
  const keyStart = saltEnd + LENGTH_BYTES;
  if (keyStart >= bytes.length || bytes.readUInt16LE(saltEnd) !== bytes.length - keyStart) return bytes;
  const expected = (saltEnd + 3) & ~3;
  if (expected === keyStart || !SALT_HEX.test(bytes.toString('latin1', LENGTH_BYTES, saltEnd))) return bytes;
  return Buffer.concat([bytes.subarray(0, saltEnd), Buffer.alloc(expected - saltEnd), bytes.subarray(keyStart)]);
}

interface Serialize {
  BlrReader: new (buffer: Buffer | undefined) => object;
}

const patched = new WeakSet<Serialize>();

/** `serialize` is the client's module of that name, whose reader takes the challenge apart. */
export function patchSrpChallenge(serialize: Serialize): void {
  if (patched.has(serialize)) return;
  patched.add(serialize);
  const { BlrReader } = serialize;
  serialize.BlrReader = class extends BlrReader {
    constructor(buffer: Buffer | undefined) {
      super(buffer && alignSrpChallenge(buffer));
    }
  };
}
