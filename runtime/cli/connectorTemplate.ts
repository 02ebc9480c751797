/** The files that `millrace new connector` writes: a small source or sink that works, with a test. */
import { PLUGIN_API_VERSION } from '../api/index.ts';

export interface TemplateOptions {
  /** Of the package, such as `hello` or `acme-orders`. */
  readonly name: string;
  readonly kind: 'source' | 'sink';
  /** Of Millrace. */
  readonly version: string;
}

/** By file name. */
export function connectorTemplate({ name, kind, version }: TemplateOptions): Readonly<Record<string, string>> {
  const words = name.split(/[-_.]+/).map(word => word.charAt(0).toUpperCase() + word.slice(1));
  const base = `${words.join('')}${kind === 'source' ? 'Source' : 'Sink'}`;
  const className = `${name}.${base}`;
  const manifest = {
    name,
    version: '0.1.0',
    description: `A ${kind} connector for Millrace`,
    type: 'module',
    millrace: { apiVersion: PLUGIN_API_VERSION, module: './index.js' },
    scripts: { test: 'node --test' },
    peerDependencies: { millrace: `>=${version}` },
  };
  // For editors, which check the types of the JavaScript too.
  const jsconfig = {
    compilerOptions: { checkJs: true, strict: true, target: 'ES2023', module: 'NodeNext', noEmit: true },
  };
  const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
  return {
    'package.json': json(manifest),
    'jsconfig.json': json(jsconfig),
    'index.js': kind === 'source' ? source(base, className) : sink(base, className),
    'index.test.js': kind === 'source' ? sourceTest(base) : sinkTest(base),
    '.gitignore': 'node_modules/\n',
  };
}

const source = (base: string, className: string): string => `// @ts-check
/** ${base}: counts, as an example. Replace \`read\` by what reads from your system. */
import { setTimeout as delay } from 'node:timers/promises';
import { ConnectError, configDef, INT64, plainBatch, STRING, Struct, struct } from 'millrace';

/** One list of keys gives validation, help, and the answers of the REST API. */
const keys = configDef({
  topic: { type: 'STRING', importance: 'HIGH', documentation: 'Topic that is written to.' },
  text: { type: 'STRING', default: 'hello', importance: 'MEDIUM', documentation: 'What each record says.' },
  'interval.ms': { type: 'LONG', default: 1000, min: 1, importance: 'LOW', documentation: 'Time between records.' },
});

/** Made once: schemas are compared by identity. A 64-bit integer is a bigint. */
const valueSchema = struct([['number', INT64], ['text', STRING]], { name: '${className}.Value' });

/** Plans: lives in the main thread, and says what each task has to do. */
class ${base}Connector {
  /** @type {import('millrace').Config} */
  #config = {};

  /** @param {import('millrace').Config} config */
  start(config) {
    this.#config = config;
  }

  /** One config per task, at most \`maxTasks\`. Counting cannot be shared, so that this is one. */
  taskConfigs() {
    return [this.#config];
  }

  stop() {}
}

/** Works: lives in a task thread. */
class ${base}Task {
  /** @type {import('millrace').SourceTaskContext} */
  #context = /** @type {any} */ (null);
  #topic = '';
  #text = '';
  #intervalMs = 0;
  #next = 0n;

  /**
   * @param {import('millrace').Config} config
   * @param {import('millrace').SourceTaskContext} context
   */
  async start(config, context) {
    const { values, errors } = keys.parse(config);
    if (errors.length > 0) throw new ConnectError('CONFIG_INVALID', errors.map(e => e.message).join('; '));
    this.#context = context;
    this.#topic = values.topic;
    this.#text = values.text;
    this.#intervalMs = values['interval.ms'];
    // Where the last run came to: what poll() gave with its last batch that the broker has.
    const offset = await context.offsets.offset(sourcePartition);
    this.#next = BigInt(offset?.next ?? 0n);
  }

  /** The next batches. Ends soon after the signal, which is aborted when the task is to stop. */
  async poll() {
    await delay(this.#intervalMs, undefined, { signal: this.#context.signal }).catch(() => {});
    if (this.#context.signal.aborted) return [];
    const number = this.#next++;
    this.#context.metrics.count('numbers_read');
    const record = {
      topic: this.#topic,
      partition: null,
      keySchema: STRING,
      key: this.#text,
      valueSchema,
      value: Struct.of(valueSchema, { number, text: this.#text }),
      timestamp: Date.now(),
      headers: [],
    };
    return [plainBatch({ records: [record], sourcePartition, sourceOffset: { next: this.#next } })];
  }

  /** Release everything; called once, also after a failure. An error of start or poll fails the task, which is restarted. */
  async stop() {}
}

/** Names what has an order of its own in the source: a table, a file, a shard. */
const sourcePartition = { source: 'numbers' };

/** @type {readonly import('millrace').Plugin[]} */
export const plugins = [
  {
    kind: 'source',
    className: '${className}',
    aliases: [],
    version: '0.1.0',
    configDef: keys,
    createConnector: () => new ${base}Connector(),
    createTask: () => new ${base}Task(),
  },
];
`;

const sourceTest = (base: string): string => `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plugins } from './index.js';

const [plugin] = plugins;
const silent = { error() {}, warn() {}, info() {}, debug() {} };

/** A task that runs by itself, without a worker. \`offset\`: where an earlier run came to. */
async function start(t, config, offset = null) {
  const stop = new AbortController();
  const task = plugin.createTask();
  t.after(async () => {
    stop.abort();
    await task.stop();
  });
  await task.start(config, {
    connectorName: 'test',
    taskId: 0,
    config,
    logger: silent,
    signal: stop.signal,
    metrics: { gauge() {}, count() {} },
    offsets: { offset: async () => offset },
  });
  return task;
}

test('${base} counts, and goes on where it stopped', async t => {
  const config = { topic: 'numbers', 'interval.ms': '1' };
  const [batch] = await (await start(t, config)).poll();
  assert.equal(batch.record(0).value.get('number'), 0n);
  const [next] = await (await start(t, config, batch.sourceOffset)).poll();
  assert.equal(next.record(0).value.get('number'), 1n);
});

test('${base} says what is wrong with a configuration', async t => {
  await assert.rejects(start(t, { 'interval.ms': '1' }), { code: 'CONFIG_INVALID', message: /"topic"/ });
});
`;

const sink = (base: string, className: string): string => `// @ts-check
/** ${base}: appends values to a file as lines of JSON, as an example. Replace \`#write\` by what writes to your system. */
import { appendFile } from 'node:fs/promises';
import { ConnectError, configDef, Struct } from 'millrace';

/** One list of keys gives validation, help, and the answers of the REST API. */
const keys = configDef({
  path: { type: 'STRING', importance: 'HIGH', documentation: 'File that is written to.' },
});

/** Plans: lives in the main thread, and says what each task has to do. */
class ${base}Connector {
  /** @type {import('millrace').Config} */
  #config = {};

  /** @param {import('millrace').Config} config */
  start(config) {
    this.#config = config;
  }

  /**
   * One config per task; the worker shares the partitions of the topics among them.
   * @param {number} maxTasks
   */
  taskConfigs(maxTasks) {
    return Array.from({ length: maxTasks }, () => this.#config);
  }

  stop() {}
}

/** Works: lives in a task thread. */
class ${base}Task {
  #path = '';

  /** @param {import('millrace').Config} config */
  async start(config) {
    const { values, errors } = keys.parse(config);
    if (errors.length > 0) throw new ConnectError('CONFIG_INVALID', errors.map(e => e.message).join('; '));
    this.#path = values.path;
  }

  /**
   * Offsets are committed only after this has returned: what it took must be safe by then. The same records may come again after a failure.
   * @param {readonly import('millrace').SinkBatch[]} batches
   */
  async put(batches) {
    let text = '';
    for (const batch of batches) {
      for (let i = 0; i < batch.count; i++) text += \`\${JSON.stringify(plain(batch.record(i).value))}\\n\`;
    }
    if (text !== '') await this.#write(text);
  }

  /** @param {string} text */
  async #write(text) {
    try {
      await appendFile(this.#path, text);
    } catch (error) {
      // A retriable error makes the worker offer the same batches again after a while; any other fails the task.
      throw new ConnectError('TASK_FAILED', \`cannot write \${this.#path}: \${error}\`, { cause: error, retriable: true });
    }
  }

  /** Release everything; called once, also after a failure. */
  async stop() {}
}

/**
 * A value as JSON has it.
 * @param {unknown} value
 * @returns {unknown}
 */
function plain(value) {
  if (value instanceof Struct) {
    return Object.fromEntries(value.schema.fields.map((field, i) => [field.name, plain(value.values[i])]));
  }
  return typeof value === 'bigint' ? String(value) : value;
}

/** @type {readonly import('millrace').Plugin[]} */
export const plugins = [
  {
    kind: 'sink',
    className: '${className}',
    aliases: [],
    version: '0.1.0',
    configDef: keys,
    createConnector: () => new ${base}Connector(),
    createTask: () => new ${base}Task(),
  },
];
`;

const sinkTest = (base: string): string => `import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { plugins } from './index.js';

const [plugin] = plugins;

/** What a task is given: records of one topic partition. */
const batch = values => ({ topic: 'numbers', partition: 0, count: values.length, record: i => ({ value: values[i] }) });

test('${base} writes a line for each value', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'sink-'));
  t.after(() => rm(dir, { recursive: true }));
  const path = join(dir, 'out.jsonl');
  const task = plugin.createTask();
  await task.start({ path });
  await task.put([batch([1n, 'two']), batch([{ three: 3 }])]);
  await task.put([]);
  await task.stop();
  assert.equal(await readFile(path, 'utf8'), '"1"\\n"two"\\n{"three":3}\\n');
});

test('${base} says what is wrong: a configuration for good, a folder that is not there to be tried again', async () => {
  await assert.rejects(plugin.createTask().start({}), { code: 'CONFIG_INVALID', message: /"path"/ });
  const task = plugin.createTask();
  await task.start({ path: '/no/such/folder/out.jsonl' });
  await assert.rejects(task.put([batch([1])]), { code: 'TASK_FAILED', retriable: true });
});
`;
