/** Logins to real Firebird 5.0 and 4.0. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, disconnect } from '../../../connectors/firebird/connection.ts';
import { type FirebirdVersion, TestFirebird } from '../../services/localFirebird.ts';

for (const version of [5, 4] as readonly FirebirdVersion[])
  test(`Firebird ${version}: a user whose salt begins with a zero can log in`, async t => {
    const { address, name } = await TestFirebird.create(t, version);
    const { signal } = new AbortController();
    const security = await connect({ ...address, database: '/system/security.fdb' }, signal);
    const user = name.toUpperCase();
    t.after(async () => {
      await security.queryAsync(`drop user ${user} using plugin Srp`);
      await disconnect(security);
    });
    // One salt in 16 does; each password gets a new one.
    const beginsWithZero = `select 1 as HIT from PLG$SRP where PLG$USER_NAME = '${user}' and ascii_val(left(PLG$SALT, 1)) < 16`;
    let attempts = 0;
    do {
      assert.ok(attempts++ < 1000, 'no such salt came about');
      await security.queryAsync(`create or alter user ${user} password 'secret' using plugin Srp`);
    } while ((await security.queryAsync(beginsWithZero)).length === 0);
    const database = await connect({ ...address, user, password: 'secret' }, signal);
    await disconnect(database);
  });
