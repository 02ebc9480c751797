/**
 * Basic authentication, as Kafka Connect's BasicAuthSecurityRestExtension has it: users and passwords in a property file, asked for by every request but
 * those that workers of the cluster send each other, which are signed.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ConnectError } from '../api/index.ts';
import { parseProperties } from '../config/properties.ts';
import type { WorkerConfig } from '../config/workerConfig.ts';
import { HttpError } from './errors.ts';

export const basicAuthExtension = 'org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension';

export type Users = ReadonlyMap<string, string>;

/** null = all may do all. Throws CONFIG_INVALID. */
export function usersOf(config: Pick<WorkerConfig, 'rest.extension.classes' | 'rest.basic.auth.file'>): Users | null {
  const classes = config['rest.extension.classes'];
  const file = config['rest.basic.auth.file'];
  const stranger = classes.find(name => name !== basicAuthExtension);
  if (stranger !== undefined) {
    throw new ConnectError(
      'CONFIG_INVALID',
      `Invalid value ${stranger} for configuration rest.extension.classes: only ${basicAuthExtension} is known`,
    );
  }
  if (classes.length === 0 && file === null) return null;
  if (file === null) {
    throw new ConnectError(
      'CONFIG_INVALID',
      'rest.extension.classes asks for basic authentication, and users are missing: set rest.basic.auth.file to the property file (user=password) that the PropertyFileLoginModule of the JAAS file names',
    );
  }
  let users: Users;
  try {
    users = parseProperties(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new ConnectError('CONFIG_INVALID', `rest.basic.auth.file: cannot read ${file}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  if (users.size > 0) return users;
  throw new ConnectError('CONFIG_INVALID', `rest.basic.auth.file: ${file} names no user; lines are user=password`);
}

/** What workers send each other; whether it is signed is checked by its route. */
const internal: readonly (readonly [method: string, path: RegExp])[] = [
  ['POST', /^\/connectors\/[^/]+\/tasks\/?(\?|$)/],
  ['PUT', /^\/connectors\/[^/]+\/fence\/?(\?|$)/],
];

export function addBasicAuth(app: FastifyInstance, users: Users): void {
  app.addHook('onRequest', async (request, reply) => {
    if (internal.some(([method, path]) => request.method === method && path.test(request.url))) return;
    if (isUser(request, users)) return;
    reply.header('www-authenticate', 'Basic realm="Millrace", charset="UTF-8"');
    throw new HttpError(401, 'User cannot access the resource.');
  });
}

function isUser(request: FastifyRequest, users: Users): boolean {
  const [, encoded] = /^basic +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (encoded === undefined) return false;
  const credentials = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = credentials.indexOf(':');
  if (colon < 0) return false;
  const password = users.get(credentials.slice(0, colon));
  // A user that is not there takes as long as a wrong password.
  const same = timingSafeEqual(digest(credentials.slice(colon + 1)), digest(password ?? ''));
  return same && password !== undefined;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
