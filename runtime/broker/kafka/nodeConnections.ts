/** The connections of one client (a producer, a consumer, …) to the nodes of the cluster, one each, opened when needed and reopened after they broke. */
import type { Logger } from '../../api/logger.ts';
import { closedError } from '../closedError.ts';
import type { Address, ClientSettings } from './clientSettings.ts';
import { KafkaConnection } from './kafkaConnection.ts';

export class NodeConnections {
  readonly #settings: ClientSettings;
  readonly #logger: Logger;
  readonly #open = new Map<string, KafkaConnection>();
  readonly #opening = new Map<string, Promise<KafkaConnection>>();
  #closed = false;

  constructor(settings: ClientSettings, logger: Logger) {
    this.#settings = settings;
    this.#logger = logger;
  }

  /** The open connection, if there is one: lets hot paths go without a promise. */
  current(address: Address): KafkaConnection | null {
    const connection = this.#open.get(keyOf(address));
    return connection?.isOpen ? connection : null;
  }

  async to(address: Address): Promise<KafkaConnection> {
    if (this.#closed) throw closedError();
    const open = this.current(address);
    if (open !== null) return open;
    const key = keyOf(address);
    const opening = this.#opening.get(key) ?? this.#connect(key, address);
    return opening;
  }

  /** Any open connection. */
  any(): KafkaConnection | null {
    for (const connection of this.#open.values()) if (connection.isOpen) return connection;
    return null;
  }

  close(): void {
    this.#closed = true;
    for (const connection of this.#open.values()) connection.close();
    this.#open.clear();
  }

  #connect(key: string, address: Address): Promise<KafkaConnection> {
    const opening = KafkaConnection.open(this.#settings, address, this.#logger)
      .then(connection => {
        if (this.#closed) {
          connection.close();
          throw closedError();
        }
        this.#open.get(key)?.close();
        this.#open.set(key, connection);
        return connection;
      })
      .finally(() => this.#opening.delete(key));
    this.#opening.set(key, opening);
    return opening;
  }
}

const keyOf = ({ host, port }: Address): string => `${host}:${port}`;
