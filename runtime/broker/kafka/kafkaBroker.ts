/** The broker port over an Apache Kafka cluster, 3.x or 4.x. */
import { ConnectError } from '../../../schemas/errors.ts';
import type { Logger } from '../../api/logger.ts';
import { closedError } from '../closedError.ts';
import type {
  Admin,
  Broker,
  Consumer,
  ConsumerOptions,
  GroupHold,
  Membership,
  MembershipOptions,
  Producer,
  ProducerOptions,
} from '../port.ts';
import { pause } from './backoff.ts';
import { connectionKeys, parseClientSettings } from './clientSettings.ts';
import { consumerKeys } from './consumerSettings.ts';
import { KafkaGroupHold } from './groupHold.ts';
import { GroupMembership } from './groupMembership.ts';
import { KafkaAdmin } from './kafkaAdmin.ts';
import { asReported, KafkaCluster } from './kafkaCluster.ts';
import { KafkaConsumer } from './kafkaConsumer.ts';
import { KafkaProducer } from './kafkaProducer.ts';
import { producerKeys } from './producerSettings.ts';
import { warnUnknown } from './warnUnknown.ts';

type Settings = Readonly<Record<string, string>>;

/** Whoever needs more time for a client closes it before. */
const closeTimeoutMs = 500;

export class KafkaBroker implements Broker {
  readonly #settings: Settings;
  readonly #logger: Logger;
  readonly #cluster: KafkaCluster;
  readonly #clients = new Set<{ close(timeoutMs?: number): Promise<void> }>();
  #closed = false;

  private constructor(settings: Settings, logger: Logger) {
    this.#settings = settings;
    this.#logger = logger;
    this.#cluster = new KafkaCluster(parseClientSettings(settings), logger);
  }

  /** Rejects with BROKER_UNREACHABLE (retriable) when no broker answers, BROKER_AUTHENTICATION_FAILED when one refuses. */
  static async connect(settings: Settings, logger: Logger): Promise<KafkaBroker> {
    const broker = new KafkaBroker(settings, logger);
    try {
      await broker.#cluster.anyConnection();
      return broker;
    } catch (error) {
      broker.#cluster.close();
      throw asReported(error);
    }
  }

  admin(): Admin {
    this.#throwClosed();
    return new KafkaAdmin(this.#cluster);
  }

  producer(options: ProducerOptions): Producer {
    this.#throwClosed();
    warnUnknown(options.settings ?? {}, producerKeys, this.#logger);
    const { cluster, release } = this.#clusterFor(options.settings);
    const producer = new KafkaProducer(cluster, options, () => {
      this.#clients.delete(producer);
      release();
    });
    this.#clients.add(producer);
    return producer;
  }

  consumer(options: ConsumerOptions): Consumer {
    this.#throwClosed();
    warnUnknown(options.settings ?? {}, consumerKeys, this.#logger);
    const { cluster, release } = this.#clusterFor(options.settings);
    const consumer = new KafkaConsumer(cluster, options, () => {
      this.#clients.delete(consumer);
      release();
    });
    this.#clients.add(consumer);
    return consumer;
  }

  async holdGroup(hold: GroupHold): Promise<void> {
    this.#throwClosed();
    const held = new KafkaGroupHold(this.#cluster, hold);
    this.#clients.add(held);
    await held.take();
  }

  membership(options: MembershipOptions): Membership {
    this.#throwClosed();
    const membership = new GroupMembership(this.#cluster, options);
    this.#clients.add(membership);
    return membership;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const inTime = new AbortController();
    const closing = Promise.allSettled([...this.#clients].map(client => client.close(closeTimeoutMs)));
    const late = pause(2 * closeTimeoutMs, inTime.signal).then(() => []);
    const closed = await Promise.race([closing, late]);
    inTime.abort();
    this.#cluster.close();
    for (const result of closed) {
      if (result.status === 'rejected')
        this.#logger.warn(
          { error: result.reason instanceof ConnectError ? result.reason.describe() : String(result.reason) },
          'a Kafka client did not close cleanly',
        );
    }
  }

  /** A client that is made by a task which outlives its worker would be closed by nobody. */
  #throwClosed(): void {
    if (this.#closed) throw closedError();
  }

  /** The shared cluster, or one of its own for a client that overrides how to connect. */
  #clusterFor(overrides: Settings = {}): { cluster: KafkaCluster; release: () => void } {
    const differs = Object.entries(overrides).some(
      ([key, value]) => key !== 'client.id' && connectionKeys.has(key) && this.#settings[key] !== value,
    );
    if (!differs) return { cluster: this.#cluster, release: () => {} };
    const cluster = new KafkaCluster(parseClientSettings({ ...this.#settings, ...overrides }), this.#logger);
    return { cluster, release: () => cluster.close() };
  }
}
