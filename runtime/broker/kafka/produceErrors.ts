/** Why sending ends for good, in words that say what to change. */
import { ConnectError } from '../../../schemas/errors.ts';
import { allowLargerRecords } from '../allowLargerRecords.ts';
import { kafkaErrorName, requestFailed } from './kafkaErrors.ts';
import type { Outgoing, PartitionQueue } from './partitionQueue.ts';
import type { ProduceAnswer } from './produceRequest.ts';

export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

export function refused(queue: PartitionQueue, answer: ProduceAnswer): ConnectError {
  const { topic, partition } = queue;
  return requestFailed(`Writing to ${topic}-${partition}`, answer.errorCode, {
    text: answer.errorText,
    place: { topic, partition },
  });
}

export function tooLargeForBroker({ pending }: Outgoing): ConnectError {
  return new ConnectError(
    'BROKER_RECORD_TOO_LARGE',
    `A record of ${pending.bytes.length} bytes for topic ${pending.topic} is larger than the broker takes. ${allowLargerRecords(pending.topic, pending.bytes.length)}`,
    { place: { topic: pending.topic, partition: pending.partition } },
  );
}

export function outOfOrder(queue: PartitionQueue, answer: ProduceAnswer): ConnectError {
  return new ConnectError(
    'BROKER_OUT_OF_ORDER_SEQUENCE',
    `Writing to ${queue.topic}-${queue.partition}: the broker answered ${kafkaErrorName(answer.errorCode)}: it no longer knows what this producer wrote before.`,
    { retriable: true, place: { topic: queue.topic, partition: queue.partition } },
  );
}

export function topicMissing({ topic, partition }: PartitionQueue, maxBlockMs: number): ConnectError {
  return new ConnectError(
    'BROKER_TOPIC_UNKNOWN',
    `Partition ${topic}-${partition} was not there for ${maxBlockMs} ms (max.block.ms). Create the topic or give it more partitions.`,
    { retriable: true, place: { topic, partition } },
  );
}

export function deliveryTimeout({ topic, partition }: PartitionQueue, deliveryTimeoutMs: number): ConnectError {
  return new ConnectError(
    'BROKER_DELIVERY_TIMEOUT',
    `Records for ${topic}-${partition} were not acknowledged within delivery.timeout.ms (${deliveryTimeoutMs}).`,
    { retriable: true, place: { topic, partition } },
  );
}
