/** Kafka or the schema registry away, at the start and later: told with their codes, and nothing is lost when they are back. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { connect as connectSocket, createServer, type Server, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { LocalKafka } from '../services/localKafka.ts';
import { freePort } from '../services/localPostgres.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { CLI } from '../services/workerProcess.ts';
import { Bench } from './badInput.ts';

/** A way to the registry that can be closed. */
class Gate {
  readonly #port: number;
  readonly #target: URL;
  #server: Server | null = null;
  readonly #sockets = new Set<Socket>();

  constructor(port: number, target: URL) {
    this.#port = port;
    this.#target = target;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}${this.#target.pathname}`;
  }

  async open(): Promise<void> {
    const server = createServer(socket => {
      const onward = connectSocket(Number(this.#target.port), this.#target.hostname);
      for (const [from, to] of [
        [socket, onward],
        [onward, socket],
      ] as const) {
        this.#sockets.add(from);
        from.on('error', () => to.destroy());
        from.on('close', () => to.destroy());
        from.pipe(to);
      }
    });
    this.#server = server;
    await new Promise<void>(resolve => server.listen(this.#port, '127.0.0.1', resolve));
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
    if (server) await new Promise(resolve => server.close(resolve));
  }
}

let kafka: LocalKafka;
let gate: Gate;
let bench: Bench;
/** Takes a minute: a worker waits that long for its Kafka. It runs beside the other tests. */
let forsaken: Promise<{ readonly address: string; readonly code: number; readonly stderr: string }>;

async function startWithoutKafka(): Promise<Awaited<typeof forsaken>> {
  const address = `127.0.0.1:${await freePort()}`;
  const args = [CLI, 'standalone', '--bootstrap-servers', address, '--listen', '127.0.0.1:0'];
  return new Promise(resolve => {
    execFile(process.execPath, args, { timeout: 120_000 }, (error, _stdout, stderr) => {
      resolve({ address, code: typeof error?.code === 'number' ? error.code : 0, stderr });
    });
  });
}

before(async () => {
  forsaken = startWithoutKafka();
  kafka = await LocalKafka.start();
  gate = new Gate(await freePort(), new URL(kafka.registryUrl));
  await gate.open();
  bench = await Bench.start({
    args: ['--bootstrap-servers', kafka.bootstrapServers, '--schema-registry', gate.url],
  });
});
after(async () => {
  await bench?.close();
  await gate?.close();
  await kafka?.stop();
});

test('a registry that is away is told in the log, and fails source and sink with the offset safe', async () => {
  const source = await bench.startSource('regsource');
  const sink = await bench.startSink('regsource');
  await bench.copied('regsource');
  await gate.close();
  await bench.source("ALTER TABLE regsource ADD n int; INSERT INTO regsource VALUES (10, 'ten', 1)");
  await bench.target('ALTER TABLE regsource ADD n int');
  assert.match(
    await bench.failure(source, 'RESTARTING'),
    /^\[REGISTRY_UNREACHABLE\] the schema registry at http:.*Check schema\.registry\.url/,
  );
  // While it was still being tried.
  assert.match(bench.worker.output, /the task waits for value\.converter, which asks its schema registry/);
  await gate.open();
  await bench.copied('regsource');
  await bench.running(sink);
});

test('a schema that the registry refuses stops the source with subject, version and what differs', async () => {
  const source = await bench.startSource('typed');
  await bench.startSink('typed');
  await bench.copied('typed');
  await bench.remove('typed-sink');
  const setLevel = async (compatibility: string): Promise<void> => {
    const answer = await fetch(`${kafka.registryUrl}/config/typed.public.typed-value`, {
      method: 'PUT',
      headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
      body: JSON.stringify({ compatibility }),
    });
    assert.ok(answer.ok);
  };
  await setLevel('BACKWARD');
  await bench.source('ALTER TABLE typed ALTER v TYPE int USING id; INSERT INTO typed VALUES (10, 10)');
  const failure = await bench.failure(source);
  assert.match(
    failure,
    /^\[REGISTRY_INCOMPATIBLE\] .*typed\.public\.typed-value.*version 1.*\bv\b.*PUT \/config\/typed\.public\.typed-value/,
  );
  const written = (): Promise<number> =>
    bench.worker.metric('kafka_connect_source_task_source_record_write_total', 'connector="typed-source"');
  // A weaker level helps too: that is shown with the embedded registry. This one now and then goes on refusing after it.
  const removed = await fetch(`${kafka.registryUrl}/subjects/typed.public.typed-value`, { method: 'DELETE' });
  assert.ok(removed.ok);
  await bench.restart(source);
  await waitUntil('the row after the change is written', 30_000, async () => (await written()) >= 1);
});

test('a broker that is away for a while holds up the pipeline and loses nothing', async () => {
  await bench.startSource('outage');
  await bench.startSink('outage');
  await bench.copied('outage');
  await kafka.killBroker();
  await bench.source("INSERT INTO outage SELECT i, 'while away' FROM generate_series(100, 300) i");
  assert.ok(bench.worker.running);
  await kafka.startBroker();
  await bench.copied('outage');
  assert.deepEqual(bench.worker.complaints, []);
});

test('a worker whose Kafka does not come ends with the address and what to check', async () => {
  const { address, code, stderr } = await forsaken;
  assert.equal(code, 1);
  const last = stderr.trimEnd().split('\n').at(-1)!;
  assert.match(last, /^millrace: \[BROKER_UNREACHABLE\] .*bootstrap\.servers/);
  assert.ok(last.includes(address), last);
});
