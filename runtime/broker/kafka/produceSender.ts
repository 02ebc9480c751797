/**
 * Moves batches from the partitions' queues to their leaders: one request per node with many partitions, several in flight, and the order of each partition kept
 * whatever fails in between. What may pass is tried again for ever (or until delivery.timeout.ms); anything else fails the sender for good.
 */
import { splitBatch } from '../records/index.ts';
import { backoffMs } from './backoff.ts';
import type { KafkaCluster } from './kafkaCluster.ts';
import type { KafkaConnection } from './kafkaConnection.ts';
import {
  ConnectionLost,
  isRetriableCode,
  isTransient,
  kafkaCode,
  kafkaErrorName,
  requestFailed,
} from './kafkaErrors.ts';
import type { NodeConnections } from './nodeConnections.ts';
import { addToSequence, type Outgoing, PartitionQueue } from './partitionQueue.ts';
import { asError, deliveryTimeout, outOfOrder, refused, tooLargeForBroker, topicMissing } from './produceErrors.ts';
import { decodeProduce, type ProduceAnswer, type ProducePart, produceRequest } from './produceRequest.ts';
import type { ProducerSettings } from './producerSettings.ts';
import { fencedError } from './transactionClient.ts';

interface InFlight {
  readonly queue: PartitionQueue;
  readonly batch: Outgoing;
  /** Nothing of its partition was under way when it was sent. */
  readonly alone: boolean;
}

/** Bytes of a request beside the batches, generously. */
const requestOverheadBytes = 512;

export class ProduceSender {
  readonly #cluster: KafkaCluster;
  readonly #connections: NodeConnections;
  readonly #settings: ProducerSettings;
  readonly #seal: (batch: Outgoing) => Promise<Buffer>;
  readonly #onFailure: (error: Error) => void;
  readonly #queues = new Map<string, Map<number, PartitionQueue>>();
  /** Queues with batches, those served longest ago first. */
  readonly #active = new Set<PartitionQueue>();
  readonly #inFlightOfNode = new Map<number, number>();
  readonly #connecting = new Set<number>();
  #timer: NodeJS.Timeout | null = null;
  #timerDue = 0;
  #refreshing = false;
  #failed = false;
  #woken = false;

  constructor(
    cluster: KafkaCluster,
    connections: NodeConnections,
    settings: ProducerSettings,
    seal: (batch: Outgoing) => Promise<Buffer>,
    onFailure: (error: Error) => void,
  ) {
    this.#cluster = cluster;
    this.#connections = connections;
    this.#settings = settings;
    this.#seal = seal;
    this.#onFailure = onFailure;
  }

  queue(topic: string, partition: number): PartitionQueue {
    let partitions = this.#queues.get(topic);
    if (partitions === undefined) this.#queues.set(topic, (partitions = new Map()));
    let queue = partitions.get(partition);
    if (queue === undefined) partitions.set(partition, (queue = new PartitionQueue(topic, partition)));
    return queue;
  }

  allQueues(): PartitionQueue[] {
    return [...this.#queues.values()].flatMap(partitions => [...partitions.values()]);
  }

  /** Takes a batch; it goes out once it is sealed. */
  enqueue(queue: PartitionQueue, batch: Outgoing): void {
    queue.batches.push(batch);
    this.#active.add(queue);
    this.#sealLater(batch);
    if (this.#settings.deliveryTimeoutMs < Number.POSITIVE_INFINITY) this.#wakeIn(this.#settings.deliveryTimeoutMs + 1);
  }

  /** Looks for work soon. Many calls of one turn make one look. */
  wake(): void {
    if (this.#woken || this.#failed) return;
    this.#woken = true;
    setImmediate(() => {
      this.#woken = false;
      if (this.#failed) return;
      try {
        this.#drive();
      } catch (error) {
        this.fail(asError(error));
      }
    });
  }

  /** Fails every batch that is not acknowledged, and takes no more. */
  fail(error: Error): void {
    if (this.#failed) return;
    this.#failed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#onFailure(error);
    for (const queue of this.#active) for (const batch of queue.batches.splice(0)) batch.failed(error);
    this.#active.clear();
  }

  #sealLater(batch: Outgoing): void {
    this.#seal(batch).then(
      sealed => {
        batch.sealed = sealed;
        this.wake();
      },
      error => this.fail(asError(error)),
    );
  }

  #drive(): void {
    const now = Date.now();
    let wakeAt = Number.POSITIVE_INFINITY;
    const unknownTopics = new Set<string>();
    const byNode = new Map<number, PartitionQueue[]>();
    for (const queue of this.#active) {
      if (this.#isLate(queue, now)) return;
      if (queue.retryAt > now) wakeAt = Math.min(wakeAt, queue.retryAt);
      const first = queue.batches[0];
      if (first !== undefined) wakeAt = Math.min(wakeAt, first.since + this.#settings.deliveryTimeoutMs + 1);
      if (this.#settings.transactionalId !== null && !queue.added) continue;
      const maxInFlight = this.#settings.idempotent && queue.known ? this.#settings.maxInFlight : 1;
      if (queue.sendable(now, maxInFlight) === null) continue;
      const leader =
        this.#cluster.topic(queue.topic) === undefined ? -1 : this.#cluster.leader(queue.topic, queue.partition);
      if (leader < 0) {
        unknownTopics.add(queue.topic);
        continue;
      }
      const queues = byNode.get(leader);
      if (queues === undefined) byNode.set(leader, [queue]);
      else queues.push(queue);
    }
    for (const [node, queues] of byNode) this.#sendTo(node, queues);
    if (unknownTopics.size > 0) this.#learn([...unknownTopics], now);
    if (wakeAt < Number.POSITIVE_INFINITY) this.#wakeIn(wakeAt - now);
  }

  #sendTo(node: number, queues: readonly PartitionQueue[]): void {
    const address = this.#cluster.address(node);
    const connection = address === undefined ? null : this.#connections.current(address);
    if (address === undefined || connection === null) {
      if (!this.#connecting.has(node)) this.#connect(node, queues);
      return;
    }
    let next = 0;
    while (next < queues.length && (this.#inFlightOfNode.get(node) ?? 0) < this.#settings.maxInFlight) {
      const parts: InFlight[] = [];
      let bytes = requestOverheadBytes;
      for (; next < queues.length; next++) {
        const queue = queues[next]!;
        const batch = queue.batches[queue.sent]!;
        bytes += batch.sealed!.length;
        if (parts.length > 0 && bytes > this.#settings.maxRequestBytes) break;
        parts.push({ queue, batch, alone: queue.sent === 0 });
      }
      this.#send(node, connection, parts);
    }
  }

  #send(node: number, connection: KafkaConnection, parts: readonly InFlight[]): void {
    const wire: ProducePart[] = [];
    for (const { queue, batch } of parts) {
      queue.sent++;
      queue.inFlight++;
      // Served: to the end of the line.
      this.#active.delete(queue);
      this.#active.add(queue);
      wire.push({ topic: queue.topic, partition: queue.partition, sealed: batch.sealed! });
    }
    this.#inFlightOfNode.set(node, (this.#inFlightOfNode.get(node) ?? 0) + 1);
    const { acks, transactionalId } = this.#settings;
    const request = produceRequest(wire, { acks, transactionalId, timeoutMs: this.#cluster.settings.requestTimeoutMs });
    connection
      .exchange(request)
      .finally(() => this.#inFlightOfNode.set(node, this.#inFlightOfNode.get(node)! - 1))
      .then(payload => {
        if (acks === 0) for (const part of parts) this.#delivered(part, -1n);
        else this.#answered(parts, decodeProduce(payload));
      })
      .catch(error => {
        if (!isTransient(error)) {
          this.fail(asError(error));
          return;
        }
        for (const { queue } of parts) this.#retry(queue, error.message);
      })
      .finally(() => this.wake());
    // More may be ready for the same partitions.
    this.wake();
  }

  #answered(parts: readonly InFlight[], answers: readonly ProduceAnswer[]): void {
    const byPartition = new Map(answers.map(answer => [`${answer.topic}\n${answer.partition}`, answer]));
    for (const part of parts) {
      if (this.#failed) return;
      const { queue } = part;
      const answer = byPartition.get(`${queue.topic}\n${queue.partition}`);
      if (answer === undefined) this.#retry(queue, 'the answer lacks the partition');
      else this.#settle(part, answer);
    }
  }

  #settle(part: InFlight, answer: ProduceAnswer): void {
    const { queue, batch } = part;
    const { errorCode } = answer;
    switch (errorCode) {
      case kafkaCode.none:
      case kafkaCode.duplicateSequence:
        this.#delivered(part, answer.baseOffset);
        break;
      case kafkaCode.messageTooLarge:
      case kafkaCode.recordListTooLarge:
        batch.tooLarge = true;
        if (batch.pending.recordCount === 1) this.fail(tooLargeForBroker(batch));
        else this.#retry(queue, kafkaErrorName(errorCode));
        break;
      case kafkaCode.outOfOrderSequence:
        // If something was under way before it, that may have come to nothing, or to another leader.
        if (part.alone) this.fail(outOfOrder(queue, answer));
        else this.#retry(queue, kafkaErrorName(errorCode));
        break;
      case kafkaCode.unknownProducerId:
        this.fail(outOfOrder(queue, answer));
        break;
      case kafkaCode.invalidProducerEpoch:
      case kafkaCode.invalidTxnState:
      case kafkaCode.invalidProducerIdMapping:
      case kafkaCode.producerFenced:
        this.fail(fencedError(`Writing to ${queue.topic}-${queue.partition}`, this.#settings.transactionalId));
        break;
      default:
        if (isRetriableCode(errorCode) || errorCode === kafkaCode.corruptMessage)
          this.#retry(queue, kafkaErrorName(errorCode));
        else this.fail(refused(queue, answer));
    }
  }

  #delivered({ queue, batch }: InFlight, baseOffset: bigint): void {
    const index = queue.batches.indexOf(batch);
    if (index < 0) return;
    queue.batches.splice(index, 1);
    queue.sent--;
    queue.inFlight--;
    queue.known = true;
    queue.attempts = 0;
    queue.missingSince = 0;
    if (queue.draining && queue.inFlight === 0) this.#restart(queue);
    if (queue.batches.length === 0) this.#active.delete(queue);
    batch.delivered(baseOffset);
  }

  /** One batch in flight failed in a way that may pass. */
  #retry(queue: PartitionQueue, why: string): void {
    if (this.#failed) return;
    queue.inFlight--;
    if (!queue.draining) {
      queue.draining = true;
      this.#cluster.logger.debug({ topic: queue.topic, partition: queue.partition, why }, 'sending again');
    }
    if (queue.inFlight === 0) this.#restart(queue);
  }

  /** Nothing is in flight any more: all that was sent without success goes again, from the first. */
  #restart(queue: PartitionQueue): void {
    const { retryBackoffMs, retryBackoffMaxMs } = this.#cluster.settings;
    queue.draining = false;
    queue.sent = 0;
    const first = queue.batches[0];
    if (first?.tooLarge) {
      this.#split(queue, first);
      queue.retryAt = 0;
      this.wake();
      return;
    }
    queue.retryAt = Date.now() + backoffMs(queue.attempts++, retryBackoffMs, retryBackoffMaxMs);
    this.#learn([queue.topic], Date.now());
    this.wake();
  }

  /** In two halves, of the same sequence numbers. */
  #split(queue: PartitionQueue, batch: Outgoing): void {
    const parts = splitBatch(batch.pending, Math.ceil(batch.pending.bytes.length / 2) + 64);
    let left = parts.length;
    let sequence = batch.baseSequence;
    let firstOffset = -1n;
    const pieces = parts.map((pending, i): Outgoing => {
      const baseSequence = sequence;
      sequence = addToSequence(sequence, pending.recordCount);
      return {
        pending,
        baseSequence,
        sealed: null,
        since: batch.since,
        tooLarge: false,
        failed: batch.failed,
        delivered: baseOffset => {
          if (i === 0) firstOffset = baseOffset;
          if (--left === 0) batch.delivered(firstOffset);
        },
      };
    });
    queue.batches.splice(0, 1, ...pieces);
    for (const piece of pieces) this.#sealLater(piece);
  }

  #isLate(queue: PartitionQueue, now: number): boolean {
    const first = queue.batches[0];
    const { deliveryTimeoutMs, maxBlockMs } = this.#settings;
    if (queue.missingSince > 0 && now - queue.missingSince > maxBlockMs) {
      this.fail(topicMissing(queue, maxBlockMs));
      return true;
    }
    if (first === undefined || now - first.since <= deliveryTimeoutMs) return false;
    this.fail(deliveryTimeout(queue, deliveryTimeoutMs));
    return true;
  }

  /** Opens a connection; until then its queues wait. */
  #connect(node: number, queues: readonly PartitionQueue[]): void {
    this.#connecting.add(node);
    const address = this.#cluster.address(node);
    const opening =
      address === undefined
        ? Promise.reject(new ConnectionLost(`node ${node} is not known`))
        : this.#connections.to(address);
    opening
      .catch(error => {
        if (!isTransient(error)) {
          this.fail(asError(error));
          return;
        }
        // The leader may be elsewhere by now.
        for (const queue of queues) if (queue.inFlight === 0) this.#restart(queue);
      })
      .finally(() => {
        this.#connecting.delete(node);
        this.wake();
      });
  }

  /** Asks for metadata and notes which topics are missing. */
  #learn(topics: readonly string[], now: number): void {
    if (this.#refreshing) return;
    this.#refreshing = true;
    this.#cluster
      .refresh(topics, true)
      .catch(error => {
        // Nobody answers: the next look asks again.
        if (!isTransient(error)) this.fail(asError(error));
      })
      .finally(() => {
        this.#refreshing = false;
        const waiting = [...this.#active].filter(queue => topics.includes(queue.topic));
        for (const queue of waiting) this.#noteLeader(queue, now);
        if (waiting.every(queue => this.#cluster.leader(queue.topic, queue.partition) >= 0)) this.wake();
        else this.#wakeIn(this.#cluster.settings.retryBackoffMs);
      });
  }

  #noteLeader(queue: PartitionQueue, now: number): void {
    const topic = this.#cluster.topic(queue.topic);
    const isThere = topic !== undefined && topic.errorCode === kafkaCode.none && queue.partition < topic.leaders.length;
    if (topic === undefined || isThere) queue.missingSince = 0;
    else if (queue.missingSince === 0) queue.missingSince = now;
    if (topic !== undefined && topic.errorCode !== kafkaCode.none && !isRetriableCode(topic.errorCode))
      this.fail(requestFailed(`Writing to ${queue.topic}`, topic.errorCode, { place: { topic: queue.topic } }));
  }

  /** The earliest of all calls counts. */
  #wakeIn(ms: number): void {
    if (this.#failed) return;
    const due = Date.now() + Math.max(1, ms);
    if (this.#timer !== null) {
      if (this.#timerDue <= due) return;
      clearTimeout(this.#timer);
    }
    this.#timerDue = due;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.wake();
    }, due - Date.now());
  }
}
