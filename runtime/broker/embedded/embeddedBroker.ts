/**
 * The embedded broker: topics in a directory, written by a thread of this process and read by all. `open` takes part in (main thread: starts) the writing
 * process; `openReader` only reads, beside a process that writes or without one.
 *
 * Durability: an acknowledged send survives the end of the process at any moment. After a power cut the store is whole but may have lost its
 * last moments, up to what the system had flushed; with `flush: 'fsync'` an acknowledged send survives that as well.
 */
import { resolve as resolvePath } from 'node:path';
import { ConnectError } from '../../../schemas/errors.ts';
import type { Logger } from '../../api/logger.ts';
import { closedError } from '../closedError.ts';
import type { Admin, Broker, Consumer, ConsumerOptions, Producer, ProducerOptions } from '../port.ts';
import { type Call, EmbeddedAdmin } from './embeddedAdmin.ts';
import { type ConsumerLink, EmbeddedConsumer } from './embeddedConsumer.ts';
import { EmbeddedProducer } from './embeddedProducer.ts';
import { connectLog, type EmbeddedOptions, type LogClient } from './logClient.ts';
import { openStore, type Store, storeExists } from './store.ts';
import { Wakeups } from './wakeups.ts';

const readerLookAgainMs = 8;

export class EmbeddedBroker implements Broker {
  #link: ConsumerLink;
  #client: LogClient | null;
  #logger: Logger;
  #store: Store;
  #dataDir: string;
  #closing: Promise<void> | null = null;

  static async open(dataDir: string, logger: Logger, options: EmbeddedOptions = {}): Promise<EmbeddedBroker> {
    const client = await connectLog(dataDir, logger, options);
    const link: ConsumerLink = {
      store: client.store,
      wakeups: client.wakeups,
      call: (name, request) => client.call(name, request),
      addMember: (memberId, rebalance) => client.addMember(memberId, rebalance),
      removeMember: memberId => client.removeMember(memberId),
    };
    return new EmbeddedBroker(client.dataDir, logger, link, client);
  }

  /** For other processes. Consumers can be assigned partitions; whatever writes is refused with BROKER_READ_ONLY. */
  static async openReader(dataDir: string, logger: Logger): Promise<EmbeddedBroker> {
    const dir = resolvePath(dataDir);
    if (!storeExists(dir))
      throw new ConnectError(
        'BROKER_STORE_FAILED',
        `There is no embedded broker in ${dir}. Give the --data-dir of the worker.`,
      );
    const link: ConsumerLink = {
      store: openStore(dir, true),
      wakeups: new Wakeups(readerLookAgainMs),
      call: readOnlyCall(dir),
      addMember: () => {},
      removeMember: () => {},
    };
    return new EmbeddedBroker(dir, logger, link, null);
  }

  private constructor(dataDir: string, logger: Logger, link: ConsumerLink, client: LogClient | null) {
    this.#dataDir = dataDir;
    this.#logger = logger;
    this.#link = link;
    this.#client = client;
    this.#store = link.store;
  }

  admin(): Admin {
    this.#throwClosed();
    return new EmbeddedAdmin(this.#store, this.#link.call);
  }

  producer(options: ProducerOptions): Producer {
    this.#throwClosed();
    if (this.#client === null) throw readOnlyError(this.#dataDir);
    return new EmbeddedProducer(this.#client, options, this.#logger);
  }

  consumer(options: ConsumerOptions): Consumer {
    this.#throwClosed();
    return new EmbeddedConsumer(this.#link, options);
  }

  /** Whoever writes the data directory is the only one. */
  async holdGroup(): Promise<void> {}

  membership(): never {
    throw new ConnectError(
      'CONFIG_INVALID',
      'a cluster of workers meets in a Kafka group, which the embedded broker does not have: set bootstrap.servers',
    );
  }

  close(): Promise<void> {
    this.#closing ??= this.#client === null ? this.#store.close() : this.#client.release();
    return this.#closing;
  }

  #throwClosed(): void {
    if (this.#closing !== null) throw closedError();
  }
}

function readOnlyCall(dataDir: string): Call {
  return () => Promise.reject(readOnlyError(dataDir));
}

function readOnlyError(dataDir: string): ConnectError {
  return new ConnectError(
    'BROKER_READ_ONLY',
    `The embedded broker in ${dataDir} is opened for reading beside its worker; only the worker's process can write.`,
  );
}
