/** `millrace topics`: lists topics and shows their records; beside a running worker as well. */
import { ConnectError, type Logger } from '../../api/index.ts';
import { connectBroker } from '../../broker/connectBroker.ts';
import { EmbeddedBroker } from '../../broker/embedded/embeddedBroker.ts';
import type { Broker } from '../../broker/port.ts';
import { SecretMask } from '../../config/secretMask.ts';
import type { WorkerConfig } from '../../config/workerConfig.ts';
import { LogLevels } from '../../metrics/logLevels.ts';
import { readWorkerFile } from '../configFile.ts';
import { option, parseFlags, type WorkerFlag, workerFlagsHelp } from '../flags.ts';
import { createLogger } from '../logger.ts';
import { readerRegistry } from '../readerRegistry.ts';
import { RecordText } from '../recordText.ts';
import { resolvedWorkerConfig } from '../resolvedWorkerConfig.ts';
import { tailTopic } from '../topicTail.ts';

const flags: readonly WorkerFlag[] = ['bootstrap-servers', 'schema-registry', 'data-dir'];

const help = `usage: millrace topics list [options]
       millrace topics tail <topic> [options]

Lists topics, or shows records of one as JSON lines: the last 10, unless said otherwise. Avro is decoded with the schema registry.

options:
${option('--from-beginning', 'Shows records from the first one.')}
${option('--max-messages <n>', 'Shows at most n records.')}
${option('--follow, -f', 'Goes on with records that come.')}
${option('--config <file>', 'Worker file, for its broker, registry and security settings.')}
${workerFlagsHelp(flags)}`;

export async function topics(args: readonly string[]): Promise<number> {
  const {
    values,
    positionals,
    config: fromFlags,
  } = parseFlags(args, flags, {
    'from-beginning': { type: 'boolean' },
    'max-messages': { type: 'string' },
    follow: { type: 'boolean', short: 'f' },
    config: { type: 'string' },
  });
  if (values.help === true) {
    process.stdout.write(`${help}\n`);
    return 0;
  }
  const [action, topic, ...surplus] = positionals;
  if (action !== 'list' && action !== 'tail') {
    throw new ConnectError('CLI_USAGE', 'expected topics list or topics tail <topic>; see millrace topics --help');
  }
  if ((action === 'tail') !== (topic !== undefined) || surplus.length > 0) {
    throw new ConnectError('CLI_USAGE', `topics ${action} takes ${action === 'tail' ? 'one topic' : 'no topic'}`);
  }
  const count = parseCount(values['max-messages']);
  const file = typeof values.config === 'string' ? await readWorkerFile(values.config) : {};
  const { config } = await resolvedWorkerConfig({ file, environment: process.env, flags: fromFlags });
  const logger = createLogger(new LogLevels('WARN'), new SecretMask());
  const broker = await openBroker(config, logger);
  try {
    if (topic === undefined) await list(broker);
    else {
      const registry = readerRegistry(config.registry, logger);
      const text = new RecordText(registry);
      const tail = { topic, fromBeginning: values['from-beginning'] === true, count, follow: values.follow === true };
      await tailTopic(broker, text, tail, process.stdout, untilSignal());
      await registry?.close?.();
    }
  } finally {
    await broker.close();
  }
  return 0;
}

function openBroker({ broker }: WorkerConfig, logger: Logger): Promise<Broker> {
  return broker.kind === 'embedded' ? EmbeddedBroker.openReader(broker.dataDir, logger) : connectBroker(broker, logger);
}

async function list(broker: Broker): Promise<void> {
  const admin = broker.admin();
  const described = await admin.describeTopics(await admin.listTopics());
  const sorted = [...described].sort((a, b) => (a.name < b.name ? -1 : 1));
  const partitions = sorted.flatMap(({ name, partitions: count }) =>
    Array.from({ length: count }, (_, partition) => ({ topic: name, partition })),
  );
  const records = new Map<string, number>();
  for (const { topic, earliest, latest } of await admin.offsets(partitions)) {
    records.set(topic, (records.get(topic) ?? 0) + latest - earliest);
  }
  for (const { name, partitions: count } of sorted) {
    process.stdout.write(`${name}  partitions=${count} records=${records.get(name) ?? 0}\n`);
  }
}

function parseCount(text: string | boolean | undefined): number | null {
  if (text === undefined) return null;
  if (typeof text !== 'string' || !/^[1-9]\d{0,8}$/.test(text)) {
    throw new ConnectError('CLI_USAGE', `--max-messages ${String(text)}: expected a positive number`);
  }
  return Number(text);
}

/** Ctrl-C ends the command, and so does the end of whoever reads its output. */
function untilSignal(): AbortSignal {
  const end = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => end.abort());
  process.stdout.once('error', () => process.exit(0));
  return end.signal;
}
