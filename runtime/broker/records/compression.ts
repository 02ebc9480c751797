/**
 * The five codecs of record batches, in the framings that Java clients use: gzip; snappy in xerial blocks (plain snappy is read too); the LZ4 frame
 * format; zstd frames. Work is done off the main thread where the library can.
 */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { compress as zstdCompress, decompress as zstdDecompress } from '@mongodb-js/zstd';
import { compressFrame, decompressFrame } from 'lz4-napi';
import snappy from 'snappy';
import type { Compression } from '../port.ts';
import { MalformedBytes } from './varint.ts';

/** By the number that a batch's attributes carry. */
export const compressions: readonly Compression[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];

const gzipAsync = promisify(gzip);
const gunzipAsync = promisify(gunzip) as (bytes: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer>;

/** Guard against sizes that only damaged or hostile bytes claim. */
const maxUncompressedBytes = 0x4000_0000;

const xerialMagic = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const xerialHeaderBytes = 16;
const xerialBlockBytes = 256 * 1024;

/** The compressed pieces, to be joined behind the batch header. */
export async function compressRecords(bytes: Buffer, compression: Compression): Promise<readonly Buffer[]> {
  switch (compression) {
    case 'none':
      return [bytes];
    case 'gzip':
      return [await gzipAsync(bytes)];
    case 'snappy':
      return compressXerial(bytes);
    case 'lz4':
      return [await compressFrame(bytes)];
    case 'zstd':
      return [await zstdCompress(bytes)];
  }
}

/** Rejects with the codec's error for bytes that are not of the codec. */
export async function decompressRecords(bytes: Buffer, compression: Compression): Promise<Buffer> {
  switch (compression) {
    case 'none':
      return bytes;
    case 'gzip':
      return gunzipAsync(bytes, { maxOutputLength: maxUncompressedBytes });
    case 'snappy':
      return bytes.subarray(0, 8).equals(xerialMagic) ? decompressXerial(bytes) : decompressSnappyBlock(bytes);
    case 'lz4':
      return decompressFrame(bytes);
    case 'zstd':
      return zstdDecompress(bytes);
  }
}

async function compressXerial(bytes: Buffer): Promise<Buffer[]> {
  const header = Buffer.alloc(xerialHeaderBytes);
  xerialMagic.copy(header);
  header.writeInt32BE(1, 8);
  header.writeInt32BE(1, 12);
  const blocks: Promise<Buffer>[] = [];
  for (let start = 0; start < bytes.length; start += xerialBlockBytes)
    blocks.push(snappy.compress(bytes.subarray(start, start + xerialBlockBytes)));
  const pieces: Buffer[] = [header];
  for (const block of await Promise.all(blocks)) {
    const length = Buffer.allocUnsafe(4);
    length.writeInt32BE(block.length);
    pieces.push(length, block);
  }
  return pieces;
}

async function decompressXerial(bytes: Buffer): Promise<Buffer> {
  const blocks: Buffer[] = [];
  let position = xerialHeaderBytes;
  while (position < bytes.length) {
    if (bytes.length - position < 4) throw new MalformedBytes('a snappy block length is cut off');
    const length = bytes.readInt32BE(position);
    position += 4;
    if (length < 0 || length > bytes.length - position) throw new MalformedBytes('a snappy block is cut off');
    blocks.push(bytes.subarray(position, position + length));
    position += length;
  }
  // Only now, so that no promise is left alone by an error above.
  return Buffer.concat(await Promise.all(blocks.map(decompressSnappyBlock)));
}

async function decompressSnappyBlock(block: Buffer): Promise<Buffer> {
  // The library allocates what the block claims; more than 64 to 1 is beyond what the format can hold (a copy of 64 bytes takes 2 or more).
  let claimed = 0;
  for (let i = 0; i < 5; i++) {
    claimed += ((block[i] ?? 0) & 0x7f) * 128 ** i;
    if ((block[i] ?? 0) < 0x80) break;
  }
  if (claimed > block.length * 64 || claimed > maxUncompressedBytes)
    throw new MalformedBytes(`a snappy block of ${block.length} bytes claims ${claimed} bytes`);
  return (await snappy.uncompress(block, { asBuffer: true })) as Buffer;
}
