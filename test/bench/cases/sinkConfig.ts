import type { Options } from '../options.ts';
import type { Servers } from '../servers.ts';
import { TABLE } from '../tables.ts';

/** A sink that upserts the topic's rows into the table. */
export const sinkConfig = (
  servers: Servers,
  options: Options,
  database: string,
  topic: string,
): Record<string, string> => ({
  'connector.class': 'millrace.PostgresSink',
  'tasks.max': '1',
  topics: topic,
  'connection.url': servers.postgres.url(database),
  'table.name.format': TABLE,
  'insert.mode': 'upsert',
  'pk.mode': 'record_key',
  'delete.enabled': 'true',
  'errors.restart.max': '0',
  ...(options.connections !== null && { connections: options.connections }),
});
