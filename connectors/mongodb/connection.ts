/** How the server is reached: the connection string, and the options that the configuration adds to it. */
import { MongoClient, type MongoClientOptions, type ServerApiVersion } from 'mongodb';
import { ConnectError } from '../../runtime/api/index.ts';
import type { SinkValues } from './configKeys.ts';

/** How long the driver looks for a server that takes writes, before the error is told and the same is tried again. */
const SELECTION_TIMEOUT_MS = 10_000;

export interface MongoOptions {
  readonly uri: string;
  readonly options: MongoClientOptions;
}

/** Also says what is wrong with the connection string, without the password that may be in it. */
export function mongoOptions(values: SinkValues): MongoOptions | { readonly key: string; readonly problem: string } {
  const uri = values['connection.uri'];
  const version = values['server.api.version'];
  const options: MongoClientOptions = {
    appName: 'millrace',
    maxPoolSize: values.connections + 1,
    // What it is in the string wins.
    ...(/[?&]serverSelectionTimeoutMS=/i.test(uri) ? {} : { serverSelectionTimeoutMS: SELECTION_TIMEOUT_MS }),
    ...(version
      ? {
          serverApi: {
            version: version as ServerApiVersion,
            strict: values['server.api.strict'],
            deprecationErrors: values['server.api.deprecationErrors'],
          },
        }
      : {}),
  };
  try {
    const { writeConcern } = new MongoClient(uri, options).options;
    if (writeConcern?.w !== 0) return { uri, options };
    const problem =
      'w=0 asks for no confirmation, so that documents could be lost; set w=1 or w=majority, or remove it';
    return { key: 'connection.uri', problem: `Invalid configuration connection.uri: ${problem}` };
  } catch (error) {
    const reason = (error as Error).message.replaceAll(uri, 'the string');
    const isOfUri = !/server ?api/i.test(reason);
    const key = isOfUri ? 'connection.uri' : 'server.api.version';
    return { key, problem: `Invalid configuration ${key}: ${reason}` };
  }
}

/** A client that has no connection yet. `timeoutMs`: at most so long for a first answer. */
export function openClient(values: SinkValues, timeoutMs?: number): MongoClient {
  const made = mongoOptions(values);
  if ('problem' in made) throw new ConnectError('CONFIG_INVALID', made.problem);
  const limits = timeoutMs === undefined ? {} : { serverSelectionTimeoutMS: timeoutMs, connectTimeoutMS: timeoutMs };
  return new MongoClient(made.uri, { ...made.options, ...limits });
}

/** The hosts of a connection string, without user and password. */
export const hostsOf = (uri: string): string =>
  /^[a-z+]+:\/\/(?:[^@/]*@)?([^/?]*)/i.exec(uri)?.[1] ?? 'the server of connection.uri';
