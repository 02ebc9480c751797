/** Snapshot and stream over TLS, which reads another kind of socket, with and without a check of the server's certificate. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ConnectError } from '../../../runtime/api/index.ts';
import type { Struct } from '../../../schemas/data/index.ts';
import { LocalPostgres } from '../../services/localPostgres.ts';
import { SourceHarness } from './sourceHarness.ts';

const NOBODY = 65534;
const ROWS = 20_000;

test('rows are copied and streamed over TLS', { timeout: 120_000 }, async t => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-tls-'));
  const [certFile, keyFile] = [join(folder, 'server.crt'), join(folder, 'server.key')];
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'],
    ...['-addext', 'subjectAltName=DNS:localhost', '-keyout', keyFile, '-out', certFile],
  ]);
  if (process.getuid?.() === 0) for (const path of [folder, certFile, keyFile]) await chown(path, NOBODY, NOBODY);
  const server = await LocalPostgres.start({ ssl: 'on', ssl_cert_file: certFile, ssl_key_file: keyFile });
  const cleanups: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup().catch(() => {});
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const harness = await SourceHarness.open({ after: f => cleanups.push(f) }, server.url('').replace(/\/$/, ''));
  await harness.sql.query('CREATE TABLE item (id integer PRIMARY KEY, v text)');
  await harness.sql.query(`INSERT INTO item SELECT i, repeat('x', i % 200) FROM generate_series(1, ${ROWS}) i`);

  await assert.rejects(
    harness.start({ 'database.sslmode': 'verify-full' }),
    (error: unknown) => error instanceof ConnectError && /certificate/.test(error.message),
  );
  const verified = {
    'database.sslmode': 'verify-full',
    'database.sslrootcert': certFile,
    'database.hostname': 'localhost',
  };
  await harness.start(verified);
  await harness.pollUntil(ROWS);
  await harness.pollUntilStreaming();
  const { rows } = await harness.sql.query(
    "SELECT count(*)::int AS encrypted FROM pg_stat_ssl JOIN pg_stat_replication USING (pid) WHERE ssl AND application_name LIKE 'millrace stream%'",
  );
  assert.equal(rows[0].encrypted, 1);
  await harness.sql.query(`UPDATE item SET v = v || '.' WHERE id <= ${ROWS / 2}`);
  await harness.sql.query('INSERT INTO item VALUES (0, $1)', ['y'.repeat(3_000_000)]);
  const records = await harness.pollUntil(ROWS * 1.5 + 1);
  assert.equal(records.length, ROWS * 1.5 + 1);
  const last = (records.at(-1)!.value as Struct).get('after') as Struct;
  assert.equal((last.get('v') as string).length, 3_000_000);
  await harness.stop();
});
