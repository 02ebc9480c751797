/** A connection that is cut at any moment of its making is an outage, for source and sink: the driver's own codes hide what the network said. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial } from 'node:net';
import { test } from 'node:test';
import type { ConnectionOptions } from 'mysql2/promise';
import { mysqlClient } from '../../../connectors/mysql/client.ts';
import { isConnectionLoss, isTlsRefusal } from '../../../connectors/mysql/connectionLoss.ts';
import { classifyMysqlFailure } from '../../../connectors/mysql/sink/mysqlFailure.ts';
import { servers } from './sink/mysqlTarget.ts';

const LAST_PIECE = 5;
const { hostname, port, username } = new URL(servers[0]![1]);
const tls = { host: hostname, user: username, connectTimeout: 5000, ssl: { rejectUnauthorized: false } };

/** Logs in and asks; the error, or null. */
async function use(options: ConnectionOptions): Promise<unknown> {
  try {
    const connection = await mysqlClient().createConnection(options);
    connection.on('error', () => {});
    await connection.query('SELECT 1').finally(() => connection.destroy());
    return null;
  } catch (error) {
    return error;
  }
}

/** Passes on so many pieces of the client, then ends both connections. */
async function useThroughCut(pieces: number, isReset: boolean): Promise<unknown> {
  const server = createServer(client => {
    const upstream = dial(Number(port), hostname);
    const end = (): void => {
      if (isReset) client.resetAndDestroy();
      else client.destroy();
      upstream.destroy();
    };
    let passed = 0;
    client
      .on('error', () => {})
      .on('data', piece => {
        if (passed++ < pieces) upstream.write(piece);
        else end();
      });
    upstream.on('error', () => {}).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const error = await use({ ...tls, port: (server.address() as AddressInfo).port });
  await new Promise(resolve => server.close(resolve));
  return error;
}

for (let pieces = 0; pieces < LAST_PIECE; pieces++)
  for (const isReset of [true, false])
    test(`a connection ${isReset ? 'reset' : 'closed'} after ${pieces} pieces of the client is an outage`, async () => {
      for (let i = 0; i < 5; i++) {
        const error = await useThroughCut(pieces, isReset);
        if (pieces < 2) assert.notEqual(error, null, 'it could not log in');
        if (error === null) continue;
        assert.equal(isConnectionLoss(error), true, String(error));
        assert.equal(classifyMysqlFailure(error), 'transient');
        assert.equal(isTlsRefusal(error), false);
      }
    });

test('a certificate that does not hold is no outage', async () => {
  const error = await use({ ...tls, port: Number(port), ssl: { rejectUnauthorized: true } });
  assert.equal(isTlsRefusal(error), true, String(error));
  assert.equal(isConnectionLoss(error), false);
  assert.equal(classifyMysqlFailure(error), 'fatal');
});
