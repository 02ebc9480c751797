/** Looks whether the server takes the login and what the user may do, before a connector is created: what is wrong then is said at once. */
import { type Document, MongoServerError } from 'mongodb';
import type { Config, ConfigError } from '../../runtime/api/index.ts';
import { type SinkValues, sinkConfigDef } from './configKeys.ts';
import { hostsOf, openClient } from './connection.ts';
import { asSinkError } from './mongoFailure.ts';
import { configOf, overriddenTopics } from './topicOverrides.ts';

/** A request waits for it. */
const TIMEOUT_MS = 5000;
/** A command that is not there, or not in the version of `server.api.strict`. */
const NOT_TOLD = [59, 323];

export async function checkTarget(config: Config): Promise<readonly ConfigError[]> {
  const { values } = sinkConfigDef.parse(config);
  const client = openClient(values, TIMEOUT_MS);
  const told = (message: string, key = 'connection.uri'): ConfigError => ({
    key,
    message: `MongoDB at ${hostsOf(values['connection.uri'])}: ${message}`,
  });
  try {
    await client.connect();
    const granted = await grantsOf(() => client.db('admin').command({ connectionStatus: 1, showPrivileges: true }));
    if (granted === null) {
      // Without login, or a server that does not tell: at least one that lets it look.
      await client.db(values.database).listCollections({}, { nameOnly: true }).toArray();
      return [];
    }
    return targetsOf(config, values).flatMap(target => {
      const lacking = lackingActions(granted, target);
      if (lacking.length === 0) return [];
      const place = `${target.database}${target.collection === null ? '' : `.${target.collection}`}`;
      return [
        told(
          `[SINK_PRIVILEGE] the user may not ${lacking.join(', ')} in ${place}; grant it readWrite there`,
          'database',
        ),
      ];
    });
  } catch (error) {
    const { code, message } = asSinkError(error);
    return [told(`[${code}] ${message}`)];
  } finally {
    await client.close();
  }
}

export interface Grant {
  readonly resource: {
    readonly db?: string;
    readonly collection?: string;
    readonly cluster?: boolean;
    readonly anyResource?: boolean;
  };
  readonly actions: readonly string[];
}

/** null = nobody is logged in, or the server does not tell. */
async function grantsOf(connectionStatus: () => Promise<Document>): Promise<readonly Grant[] | null> {
  try {
    const { authInfo } = await connectionStatus();
    return authInfo.authenticatedUsers.length === 0 ? null : authInfo.authenticatedUserPrivileges;
  } catch (error) {
    if (error instanceof MongoServerError && NOT_TOLD.includes(Number(error.code))) return null;
    throw error;
  }
}

export interface WriteTarget {
  readonly database: string;
  /** null = any, as topics and records name them. */
  readonly collection: string | null;
  readonly actions: readonly string[];
}

function targetsOf(config: Config, values: SinkValues): WriteTarget[] {
  const targetOf = (own: SinkValues, topic: string | null): WriteTarget => ({
    database: own.database,
    collection: own['namespace.mapper'].endsWith('FieldPathNamespaceMapper') ? null : own.collection || topic,
    actions: [
      'insert',
      'update',
      ...(own['delete.on.null.values'] || own['change.data.capture.handler'] ? ['remove'] : []),
    ],
  });
  const topics = overriddenTopics(config);
  return [
    targetOf(values, null),
    ...topics.map(topic => targetOf(sinkConfigDef.parse(configOf(config, topic)).values, topic)),
  ];
}

/** The actions that no grant covers. Where the collection is not known, a grant for a single one counts: it may be the one. */
export function lackingActions(grants: readonly Grant[], { database, collection, actions }: WriteTarget): string[] {
  const covers = ({ resource }: Grant): boolean => {
    if (resource.anyResource) return true;
    if (resource.db === undefined || (resource.db !== '' && resource.db !== database)) return false;
    return collection === null || resource.collection === '' || resource.collection === collection;
  };
  const granted = new Set(grants.filter(covers).flatMap(grant => grant.actions));
  return actions.filter(action => !granted.has(action) && !granted.has('anyAction'));
}
