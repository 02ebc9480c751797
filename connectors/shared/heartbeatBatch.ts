/** One heartbeat record, with the offset that it carries forward while no change does. */
import { plainBatch, type SourceBatch, type SourceOffset, type SourcePartition } from '../../runtime/api/index.ts';
import { Struct } from '../../schemas/data/index.ts';
import { heartbeatKey, heartbeatValue } from '../../schemas/envelope/debezium.ts';
import { topicName } from './eventNames.ts';

export function heartbeatBatch(
  topic: string,
  prefix: string,
  sourcePartition: SourcePartition,
  sourceOffset: SourceOffset,
): SourceBatch {
  return plainBatch({
    records: [
      {
        topic: topicName(topic),
        partition: null,
        keySchema: heartbeatKey,
        key: new Struct(heartbeatKey, [prefix]),
        valueSchema: heartbeatValue,
        value: new Struct(heartbeatValue, [BigInt(Date.now())]),
        timestamp: null,
        headers: [],
      },
    ],
    sourcePartition,
    sourceOffset,
  });
}
