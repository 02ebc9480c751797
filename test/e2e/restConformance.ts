/** Plays the REST conformance kit against a worker, tells which steps differ from what Kafka Connect answers, and removes what a run leaves on a broker. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Broker } from '../../runtime/broker/port.ts';
import { InternalTopic } from '../../runtime/herder/stores/internalTopic.ts';

const kit = join(import.meta.dirname, '../conformance/rest/conform.mjs');

/** What the kit asks of a worker, beside its broker. */
export const kitWorkerArgs: readonly string[] = [
  'key.converter=org.apache.kafka.connect.json.JsonConverter',
  'value.converter=org.apache.kafka.connect.json.JsonConverter',
  'offset.flush.interval.ms=1000',
  'errors.restart.max=0',
].flatMap(setting => ['--set', setting]);

export interface KitResult {
  readonly passed: number;
  /** `scenario > step`, with the kit's lines on what differs. */
  readonly failed: ReadonlyMap<string, string>;
}

export async function runRestKit(url: string): Promise<KitResult> {
  const child = spawn(process.execPath, [kit, 'check', '--url', url], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  await once(child, 'close');
  const total = /^(\d+) passed, (\d+) failed$/m.exec(output);
  if (total === null) throw new Error(`the kit did not finish:\n${output}`);
  const failed = new Map(
    output
      .split(/^FAIL /m)
      .slice(1)
      .map(block => [/^(.*?)(?: {3}\[.*)?$/m.exec(block)![1]!, block] as const),
  );
  if (failed.size !== Number(total[2])) throw new Error(`the kit's failures cannot be read:\n${output}`);
  return { passed: Number(total[1]), failed };
}

export const silentLogger = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };

/** Deletes the topics and groups of the connectors that a worker of this group had, and its own topics. The worker must have ended. */
export async function removeKitLeftovers(broker: Broker, groupId: string): Promise<void> {
  const admin = broker.admin();
  const configTopic = `${groupId}-configs`;
  const names = new Set<string>();
  const topic = await InternalTopic.open(
    {
      broker,
      spec: { name: configTopic, partitions: 1, replicationFactor: -1 },
      create: false,
      clientId: groupId,
      logger: silentLogger,
    },
    ({ key }) => {
      if (key.startsWith('connector-')) names.add(key.slice('connector-'.length));
    },
  );
  await topic.close();
  const runIds = new Set([...names].flatMap(name => /r[a-z0-9]{8}$/.exec(name) ?? []));
  const topics = (await admin.listTopics()).filter(found => [...runIds].some(id => found.startsWith(`topic-${id}`)));
  await admin.deleteTopics([...topics, configTopic, `${groupId}-offsets`, `${groupId}-status`]);
  for (const name of names) {
    if ((await admin.groupOffsets(`connect-${name}`)).length > 0) await admin.deleteGroup(`connect-${name}`);
  }
}
