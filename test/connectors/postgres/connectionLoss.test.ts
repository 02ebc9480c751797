import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isConnectionLoss } from '../../../connectors/postgres/source/connection.ts';
import { ConnectError } from '../../../runtime/api/index.ts';

const coded = (message: string, code: string): Error => Object.assign(new Error(message), { code });

describe('a lost connection to the source', () => {
  it('is known by every text the client has for it', () => {
    for (const text of [
      'Client has encountered a connection error and is not queryable',
      'Client was closed and is not queryable',
      'Connection terminated',
      'Connection terminated unexpectedly',
      'timeout expired',
      'Query read timeout',
    ]) {
      assert.equal(isConnectionLoss(new Error(text)), true, text);
    }
  });

  it('is known by codes of the network and of a server that goes or comes', () => {
    for (const code of ['ECONNRESET', 'EPIPE', 'ECONNREFUSED', 'ENETUNREACH', 'EAI_AGAIN', '57P01', '57P03', '08006']) {
      assert.equal(isConnectionLoss(coded('it failed', code)), true, code);
    }
    assert.equal(isConnectionLoss(new AggregateError([coded('connect', 'ECONNREFUSED')], '')), true);
    assert.equal(isConnectionLoss(new ConnectError('PG_UNREACHABLE', 'closed')), true);
  });

  it('is not what needs somebody to change something', () => {
    for (const code of ['28P01', '42P01', '22P02']) assert.equal(isConnectionLoss(coded('socket', code)), false, code);
    assert.equal(isConnectionLoss(new ConnectError('PG_SLOT_LOST', 'the connection is closed')), false);
    assert.equal(isConnectionLoss(new TypeError('x is not a function')), false);
  });
});
