/** What a PostgreSQL source says of trouble on its side, and that it goes on with nothing lost once the trouble is mended. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { waitUntil } from '../services/waitUntil.ts';
import { Bench, query } from './badInput.ts';

let bench: Bench;
before(async () => {
  bench = await Bench.start({ postgres: { wal_level: 'replica' } });
});
after(() => bench?.close());

const pause = (name: string, verb: 'stop' | 'resume'): Promise<unknown> =>
  bench.worker.request('PUT', `/connectors/${name}/${verb}`);

/** Stopped, so that its slot is free. */
async function stop(name: string): Promise<void> {
  await pause(name, 'stop');
  await waitUntil('the slot is free', 30_000, async () => {
    const [slot] = await bench.source(
      `SELECT active FROM pg_replication_slots WHERE slot_name = '${name.split('-')[0]}'`,
    );
    return slot?.active !== true;
  });
}

test('wal_level=replica is refused; with wal_level=logical the same connector runs', async () => {
  await bench.source('CREATE TABLE level (id int PRIMARY KEY, v text)');
  const { message } = await bench.refused('level-source', bench.sourceConfig('level'));
  assert.match(message, /^\[PG_WAL_LEVEL\] wal_level is replica; set wal_level=logical and restart the server\.$/m);
  await bench.postgres.kill();
  await bench.postgres.restart({ wal_level: 'logical' });
  await bench.startSource('level');
  await bench.startSink('level');
  await bench.copied('level');
});

test('a wrong password is refused; one that was changed stops the source until it is right', async () => {
  await bench.source(`CREATE TABLE password (id int PRIMARY KEY, v text);
    CREATE ROLE reader LOGIN REPLICATION PASSWORD 'first'; GRANT SELECT ON password TO reader;
    CREATE PUBLICATION password FOR TABLE password`);
  const reader = { 'database.user': 'reader', 'publication.autocreate.mode': 'disabled' };
  const wrong = bench.sourceConfig('password', { ...reader, 'database.password': 'wrong' });
  const { message } = await bench.refused('password-source', wrong);
  assert.match(
    message,
    /^\[PG_LOGIN_REFUSED\] PostgreSQL at 127\.0\.0\.1:\d+ refused user "reader".*Check database\.user, database\.password/m,
  );
  const source = await bench.startSource('password', { ...reader, 'database.password': 'first' });
  await bench.startSink('password');
  await bench.copied('password');

  await stop(source);
  await bench.source("ALTER ROLE reader PASSWORD 'second'; INSERT INTO password VALUES (10, 'ten')");
  await pause(source, 'resume');
  assert.match(await bench.failure(source), /^\[PG_LOGIN_REFUSED\] .* \(connector password-source, task 0\)$/);
  await bench.source("ALTER ROLE reader PASSWORD 'first'");
  await bench.restart(source);
  await bench.copied('password');
});

test('a user without REPLICATION or SELECT is refused, and stopped when they are taken away', async () => {
  await bench.source(`CREATE TABLE rights (id int PRIMARY KEY, v text);
    CREATE ROLE weak LOGIN PASSWORD 'weak'; CREATE PUBLICATION rights FOR TABLE rights`);
  const weak = { 'database.user': 'weak', 'database.password': 'weak', 'publication.autocreate.mode': 'disabled' };
  const { message } = await bench.refused('rights-source', bench.sourceConfig('rights', weak));
  assert.match(
    message,
    /^\[PG_REPLICATION_DENIED\] User "weak" may not replicate; run ALTER ROLE "weak" REPLICATION\.$/m,
  );
  assert.match(message, /^\[PG_TABLE_DENIED\] User "weak" may not read public\.rights; grant SELECT/m);
  await bench.source('ALTER ROLE weak REPLICATION; GRANT SELECT ON rights TO weak');
  const source = await bench.startSource('rights', weak);
  await bench.startSink('rights');
  await bench.copied('rights');

  await stop(source);
  await bench.source(
    "ALTER ROLE weak NOREPLICATION; REVOKE SELECT ON rights FROM weak; INSERT INTO rights VALUES (10, 'ten')",
  );
  await pause(source, 'resume');
  const failure = await bench.failure(source);
  assert.match(failure, /^\[PG_REPLICATION_DENIED\] /);
  assert.match(failure, /\[PG_TABLE_DENIED\] .*public\.rights/);
  await bench.source('ALTER ROLE weak REPLICATION; GRANT SELECT ON rights TO weak');
  await bench.restart(source);
  await bench.copied('rights');
});

test('a slot that is gone stops the source rather than leaving out changes; reset offsets read all rows again', async () => {
  const source = await bench.startSource('slot');
  await bench.startSink('slot');
  await bench.copied('slot');
  await stop(source);
  await bench.source("SELECT pg_drop_replication_slot('slot'); INSERT INTO slot VALUES (10, 'ten')");
  await pause(source, 'resume');
  assert.match(
    await bench.failure(source),
    /^\[PG_SLOT_MISSING\] The slot "slot" does not exist, but there is a stored position/,
  );
  await pause(source, 'stop');
  await bench.worker.request('DELETE', `/connectors/${source}/offsets`);
  await pause(source, 'resume');
  await bench.copied('slot');
});

test('a slot whose WAL was removed is told as lost', async () => {
  const source = await bench.startSource('lost');
  await bench.startSink('lost');
  await bench.copied('lost');
  await stop(source);
  await query(bench.postgres.url('postgres'), "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'");
  await bench.source("SELECT pg_reload_conf(); INSERT INTO lost VALUES (10, 'ten')");
  await waitUntil('the slot is lost', 60_000, async () => {
    await bench.source('CREATE TABLE filler (); DROP TABLE filler');
    await bench.source('SELECT pg_switch_wal()');
    await bench.source('CHECKPOINT');
    return (
      (await bench.source("SELECT wal_status FROM pg_replication_slots WHERE slot_name = 'lost'"))[0]?.wal_status ===
      'lost'
    );
  });
  await query(bench.postgres.url('postgres'), 'ALTER SYSTEM RESET max_slot_wal_keep_size');
  await bench.source('SELECT pg_reload_conf()');
  await pause(source, 'resume');
  assert.match(await bench.failure(source), /^\[PG_SLOT_LOST\] .*"lost".*max_slot_wal_keep_size/);
  await pause(source, 'stop');
  await bench.source("SELECT pg_drop_replication_slot('lost')");
  await bench.worker.request('DELETE', `/connectors/${source}/offsets`);
  await pause(source, 'resume');
  await bench.copied('lost');
});

test('a publication that is missing is refused; changes made without it stop the source', async () => {
  await bench.source('CREATE TABLE publ (id int PRIMARY KEY, v text)');
  const disabled = { 'publication.autocreate.mode': 'disabled' };
  const { message } = await bench.refused('publ-source', bench.sourceConfig('publ', disabled));
  assert.match(message, /^\[PG_PUBLICATION_MISSING\] The publication "publ" does not exist/m);
  await bench.source('CREATE PUBLICATION publ FOR TABLE publ');
  const source = await bench.startSource('publ', disabled);
  await bench.startSink('publ');
  await bench.copied('publ');
  await bench.source("DROP PUBLICATION publ; INSERT INTO publ VALUES (10, 'ten')");
  const gap =
    /^\[PG_PUBLICATION_MISSING\] Changes were made while the publication did not exist.*"publ".*position 0\/[0-9A-F]+/;
  assert.match(await bench.failure(source), gap);
  await bench.source("CREATE PUBLICATION publ FOR TABLE publ; INSERT INTO publ VALUES (11, 'eleven')");
  await bench.restart(source);
  assert.match(await bench.failure(source), gap, 'the server does not send what was made in between');
  await stop(source);
  await bench.source("SELECT pg_drop_replication_slot('publ')");
  await bench.worker.request('DELETE', `/connectors/${source}/offsets`);
  await pause(source, 'resume');
  await bench.copied('publ');
});

test('a table without key: rows are copied, an update fails in the application, and a sink that wants keys stops', async () => {
  await bench.source("CREATE TABLE keyless (id int, v text); INSERT INTO keyless VALUES (1, 'v1'), (2, 'v2')");
  await bench.worker.createConnector('keyless-source', bench.sourceConfig('keyless'));
  await bench.running('keyless-source');
  const sink = await bench.startSink('keyless');
  const failure = await bench.failure(sink);
  assert.match(failure, /^\[SINK_KEY_MISSING\] the record has no key, .*pk\.mode=none and insert\.mode=insert/);
  assert.match(failure, /topic keyless\.public\.keyless, partition 0, offset 0/);
  await assert.rejects(bench.source("UPDATE keyless SET v = 'w1' WHERE id = 1"), /replica identity/);
  await bench.worker.request(
    'PUT',
    `/connectors/${sink}/config`,
    bench.sinkConfig('keyless', { 'pk.mode': 'none', 'insert.mode': 'insert', 'delete.enabled': 'false' }),
  );
  await bench.copied('keyless');
});

test('a renamed key column is refused by the registry; a weaker compatibility level lets it pass', async () => {
  const source = await bench.startSource('renamed');
  const sink = await bench.startSink('renamed');
  await bench.copied('renamed');
  await bench.remove(sink);
  await bench.source("ALTER TABLE renamed RENAME id TO ident; INSERT INTO renamed VALUES (10, 'ten')");
  const failure = await bench.failure(source);
  assert.match(failure, /^\[REGISTRY_INCOMPATIBLE\] .*renamed\.public\.renamed-key.*version 1/);
  for (const side of ['key', 'value']) {
    await bench.worker.request('PUT', `/registry/config/renamed.public.renamed-${side}`, { compatibility: 'NONE' });
  }
  await bench.restart(source);
  const written = (): Promise<number> =>
    bench.worker.metric('kafka_connect_source_task_source_record_write_total', 'connector="renamed-source"');
  await waitUntil('the row after the renaming is written', 30_000, async () => (await written()) >= 1);
});
