/** A connection that is cut at any moment is an outage, for source and sink, and is followed by a new one: never a wait, never the dead one again. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  connect,
  disconnect,
  type FirebirdAddress,
  firebirdError,
  isConnectionLoss,
} from '../../../connectors/firebird/connection.ts';
import { Session } from '../../../connectors/firebird/session.ts';
import { classifyFailure } from '../../../connectors/firebird/sink/firebirdFailure.ts';
import type { Logger } from '../../../runtime/api/index.ts';
import { TestFirebird } from '../../services/localFirebird.ts';
import { FirebirdHarness } from './sourceHarness.ts';

const SOON_MS = 5000;
const LAST_PIECE = 5;
const SIGNAL = new AbortController().signal;
const quiet: Logger = { error() {}, warn() {}, info() {}, debug() {} };

type Ending = 'reset' | 'closed';

/** A way to a server that passes so many pieces of the client, then ends what is open. */
class Way implements AsyncDisposable {
  /** Pieces that are still passed on; what comes after them ends the connection. */
  pieces = Number.POSITIVE_INFINITY;
  readonly #ending: Ending;
  readonly #open = new Set<Socket>();
  readonly #server = createServer(client => this.#join(client));
  readonly #target: number;

  constructor(target: number, ending: Ending) {
    this.#target = target;
    this.#ending = ending;
  }

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  #join(client: Socket): void {
    const upstream = dial(this.#target, '127.0.0.1');
    this.#open.add(client);
    client
      .on('error', () => {})
      .on('close', () => {
        this.#open.delete(client);
        upstream.destroy();
      })
      .on('data', piece => {
        if (this.pieces-- > 0) upstream.write(piece);
        else this.cut();
      });
    upstream.on('error', () => {}).pipe(client);
  }

  cut(): void {
    for (const client of this.#open) {
      if (this.#ending === 'reset') client.resetAndDestroy();
      else client.destroy();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise(resolve => this.#server.close(resolve));
  }
}

/** Fails where it takes long: a wait is what must not be. */
async function soon<T>(what: Promise<T>): Promise<T> {
  const bound = new AbortController();
  const late = delay(SOON_MS, null, { signal: bound.signal }).then(() => assert.fail('it waits'));
  late.catch(() => {});
  return Promise.race([what, late]).finally(() => bound.abort());
}

describe('a connection that is cut', { concurrency: true }, () => {
  for (const ending of ['reset', 'closed'] as const) {
    test(`${ending} during a login`, async t => {
      const database = await TestFirebird.create(t, 5);
      for (let pieces = 0; pieces < LAST_PIECE; pieces++) {
        await using way = new Way(database.address.port, ending);
        way.pieces = pieces;
        const address: FirebirdAddress = { ...database.address, port: await way.listen() };
        const result = await soon(
          connect(address, SIGNAL).then(
            async made => {
              await disconnect(made);
              return null;
            },
            (error: unknown) => error,
          ),
        );
        if (pieces < 2) assert.notEqual(result, null, 'it could not log in');
        if (result === null) continue;
        const { code, retriable } = firebirdError(result, address);
        assert.deepEqual([code, retriable], ['FB_UNREACHABLE', true], `after ${pieces} pieces: ${String(result)}`);
      }
    });

    test(`${ending} while a statement waits, and while nothing is done`, async t => {
      const database = await TestFirebird.create(t, 5);
      await database.run('create table T (ID integer not null primary key)', 'insert into T values (1)');
      await using way = new Way(database.address.port, ending);
      const address = { ...database.address, port: await way.listen() };
      const session = new Session({ address, logger: quiet, what: 'the target', stopped: () => new Error('stopped') });
      const holder = await database.connect();
      const holding = await holder.transactionAsync();
      await holding.queryAsync('delete from T');
      let failure: unknown = null;
      const asked = session.use(async of => {
        const transaction = await of.transactionAsync();
        try {
          await transaction.queryAsync('delete from T');
        } catch (error) {
          await transaction.rollbackAsync().catch(() => {});
          throw error;
        }
      });
      asked.catch((error: unknown) => {
        failure = error;
      });
      await delay(300);
      assert.equal(failure, null);
      way.cut();
      await assert.rejects(soon(asked), error => isConnectionLoss(error) && classifyFailure(error) === 'transient');
      const one = (): Promise<unknown[]> => soon(session.use(of => of.queryAsync('select 1 one from rdb$database')));
      assert.equal((await one()).length, 1);
      way.cut();
      await delay(50);
      assert.equal((await one()).length, 1);
      // At once: it may not be known yet.
      way.cut();
      await one().catch((error: unknown) => assert.ok(isConnectionLoss(error), String(error)));
      assert.equal((await one()).length, 1);
      await holding.rollbackAsync();
      await disconnect(holder);
      await session.close();
    });

    test(`${ending} while the snapshot is read: it begins again`, async t => {
      const database = await TestFirebird.create(t, 5);
      const rows = 6000;
      await database.run(
        'create table T (ID integer not null primary key, V varchar(200))',
        `execute block as declare I integer = 0; begin while (I < ${rows}) do begin insert into T values (:I, rpad('', 200, 'x')); I = I + 1; end end`,
      );
      await using way = new Way(database.address.port, ending);
      const source = new FirebirdHarness(t, database);
      await source.start({ 'database.port': String(await way.listen()), 'snapshot.fetch.size': '500' });
      while (source.changes.length < 500) await source.poll();
      way.cut();
      await assert.rejects(soon(source.pollUntil('all rows', changes => changes.length >= rows)), {
        code: 'FB_UNREACHABLE',
        retriable: true,
      });
      source.changes.length = 0;
      await source.pollUntil('the end of the snapshot', () => source.isStreaming);
      assert.equal(new Set(source.changes.map(change => change.after?.ID)).size, rows);
      assert.equal(source.changes.length, rows);
    });
  }
});
