import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firebirdError } from '../../../connectors/firebird/connection.ts';
import { sourceError as mysqlError } from '../../../connectors/mysql/source/connection.ts';
import { sourceError as postgresError } from '../../../connectors/postgres/source/connection.ts';

test('an error of the program is not told as one of the server', () => {
  const error = new TypeError('x is not a function');
  const settings = { host: 'h', port: 1, user: 'u', database: 'd', password: '', role: null };
  for (const tell of [firebirdError, mysqlError, postgresError]) {
    const told = tell(error, settings as never);
    assert.equal(told.code, 'TASK_FAILED');
    assert.equal(told.cause, error);
    assert.match(tell(new Error('no'), settings as never).code, /_STATEMENT_REFUSED$/);
  }
});
