/** Fetch, version 11, without a fetch session: record batches come back as they are stored. */
import type { RawRequest } from './kafkaConnection.ts';
import { RawDecoder } from './rawDecoder.ts';
import { RawEncoder } from './rawEncoder.ts';

export interface FetchPart {
  readonly topic: string;
  readonly partition: number;
  readonly fetchOffset: number;
}

export interface FetchOptions {
  readonly maxWaitMs: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly maxPartitionBytes: number;
  readonly readCommitted: boolean;
}

export interface FetchAnswer {
  readonly topic: string;
  readonly partition: number;
  readonly errorCode: number;
  readonly highWatermark: number;
  readonly lastStableOffset: number;
  readonly abortedTransactions: readonly { readonly producerId: bigint; readonly firstOffset: bigint }[];
  readonly bytes: Buffer;
}

/** The broker fills the answer in the order of the request: callers should vary it. */
export function fetchRequest(parts: readonly FetchPart[], options: FetchOptions): RawRequest {
  // One topic entry per run of neighbours keeps the order.
  const runs: FetchPart[][] = [];
  let size = 35;
  for (const part of parts) {
    const last = runs.at(-1);
    if (last?.[0]?.topic === part.topic) last.push(part);
    else {
      runs.push([part]);
      size += RawEncoder.stringBytes(part.topic) + 4;
    }
    size += 28;
  }
  const encoder = new RawEncoder(size)
    .int32(-1)
    .int32(options.maxWaitMs)
    .int32(options.minBytes)
    .int32(options.maxBytes)
    .int8(options.readCommitted ? 1 : 0)
    .int32(0)
    .int32(-1)
    .int32(runs.length);
  for (const run of runs) {
    encoder.string(run[0]!.topic).int32(run.length);
    for (const { partition, fetchOffset } of run)
      encoder.int32(partition).int32(-1).int64(BigInt(fetchOffset)).int64(-1n).int32(options.maxPartitionBytes);
  }
  // No rack: with one, leaders answer with the name of a nearer replica instead of records.
  encoder.int32(0).string('');
  return { apiKey: 1, apiName: 'Fetch', apiVersion: 11, body: [encoder.finish()], timeoutMs: options.maxWaitMs };
}

export function decodeFetch(payload: Buffer): { readonly errorCode: number; readonly parts: FetchAnswer[] } {
  const decoder = new RawDecoder(payload);
  decoder.int32(); // throttle time
  const errorCode = decoder.int16();
  decoder.int32(); // session
  const parts: FetchAnswer[] = [];
  decoder.array(() => {
    const topic = decoder.string() ?? '';
    decoder.array(() => {
      const partition = decoder.int32();
      const partitionError = decoder.int16();
      const highWatermark = Number(decoder.int64());
      const lastStableOffset = Number(decoder.int64());
      decoder.int64(); // log start offset
      const abortedTransactions = decoder.array(() => ({ producerId: decoder.int64(), firstOffset: decoder.int64() }));
      decoder.int32(); // preferred read replica
      const bytes = decoder.bytes() ?? Buffer.alloc(0);
      parts.push({
        topic,
        partition,
        errorCode: partitionError,
        highWatermark,
        lastStableOffset,
        abortedTransactions,
        bytes,
      });
    });
  });
  return { errorCode, parts };
}
