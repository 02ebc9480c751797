/**
 * Names of what is distributed over workers: connectors and tasks. Sets of them hold texts, since work is compared by content;
 * a connector is its own task -1, as in Kafka Connect's protocol.
 */

export interface WorkId {
  readonly connector: string;
  /** -1 = the connector itself. */
  readonly task: number;
}

export const connectorTask = -1;

export const workKey = ({ connector, task }: WorkId): string => `${task}:${connector}`;

export function parseWorkKey(key: string): WorkId {
  const colon = key.indexOf(':');
  return { connector: key.slice(colon + 1), task: Number(key.slice(0, colon)) };
}

export const connectorKey = (connector: string): string => workKey({ connector, task: connectorTask });

export const isConnectorKey = (key: string): boolean => key.startsWith('-1:');

/** Of the worker at a URL: host:port, where URL would leave a default port out. */
export const workerIdOf = (url: string): string => url.replace(/^\w+:\/\//, '').replace(/\/$/, '');
