/** Produce, version 8: sealed batches go out as they are, in one request per node. */
import type { RawRequest } from './kafkaConnection.ts';
import { RawDecoder } from './rawDecoder.ts';
import { RawEncoder } from './rawEncoder.ts';

export interface ProducePart {
  readonly topic: string;
  readonly partition: number;
  readonly sealed: Buffer;
}

export interface ProduceAnswer {
  readonly topic: string;
  readonly partition: number;
  readonly errorCode: number;
  readonly baseOffset: bigint;
  readonly errorText: string | null;
}

/** At most one part per partition. Parts of one topic need not be neighbours. */
export function produceRequest(
  parts: readonly ProducePart[],
  options: { transactionalId: string | null; acks: -1 | 0 | 1; timeoutMs: number },
): RawRequest {
  const topics = new Map<string, ProducePart[]>();
  for (const part of parts) {
    const list = topics.get(part.topic);
    if (list === undefined) topics.set(part.topic, [part]);
    else list.push(part);
  }
  let head = new RawEncoder(RawEncoder.stringBytes(options.transactionalId) + 10)
    .string(options.transactionalId)
    .int16(options.acks)
    .int32(options.timeoutMs)
    .int32(topics.size);
  const body: Buffer[] = [head.finish()];
  for (const [topic, list] of topics) {
    head = new RawEncoder(RawEncoder.stringBytes(topic) + 4).string(topic).int32(list.length);
    body.push(head.finish());
    for (const { partition, sealed } of list)
      body.push(new RawEncoder(8).int32(partition).int32(sealed.length).finish(), sealed);
  }
  return { apiKey: 0, apiName: 'Produce', apiVersion: 8, body, expectResponse: options.acks !== 0 };
}

export function decodeProduce(payload: Buffer): ProduceAnswer[] {
  const decoder = new RawDecoder(payload);
  const answers: ProduceAnswer[] = [];
  decoder.array(() => {
    const topic = decoder.string() ?? '';
    decoder.array(() => {
      const partition = decoder.int32();
      const errorCode = decoder.int16();
      const baseOffset = decoder.int64();
      decoder.int64(); // log append time
      decoder.int64(); // log start offset
      const recordErrors = decoder.array(() => ({ index: decoder.int32(), text: decoder.string() }));
      const text = decoder.string();
      const details = recordErrors.filter(e => e.text !== null).map(e => `record ${e.index}: ${e.text}`);
      const errorText = [text, ...details].filter(t => t !== null).join('; ') || null;
      answers.push({ topic, partition, errorCode, baseOffset, errorText });
    });
  });
  return answers;
}
