/** What Kafka's own tools say of groups: the list of kafka-groups.sh, and the admin client's description of a classic one. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

async function kafkaTool(...args: readonly string[]): Promise<string[]> {
  const { stdout } = await run('bash', [join(import.meta.dirname, 'kafka.sh'), 'run', ...args]);
  return stdout.split('\n').map(line => line.trim());
}

/** Its line in the list, without the name: `Classic connect`; undefined = it is not listed. */
export async function listedGroup(bootstrap: string, groupId: string): Promise<string | undefined> {
  const lines = await kafkaTool('org.apache.kafka.tools.GroupsCommand', '--bootstrap-server', bootstrap, '--list');
  const line = lines.find(text => text.startsWith(`${groupId} `));
  return line?.slice(groupId.length).trim().replace(/\s+/g, ' ');
}

export interface DescribedGroup {
  /** State, protocol type, and the protocol that the members agree on: `Stable connect sessioned`. */
  readonly summary: string;
  /** Client ids of the members, sorted. */
  readonly members: readonly string[];
}

export async function describedGroup(bootstrap: string, groupId: string): Promise<DescribedGroup> {
  const lines = await kafkaTool(join(import.meta.dirname, 'DescribeClassicGroup.java'), bootstrap, groupId);
  const after = (word: string): string[] =>
    lines.filter(line => line.startsWith(`${word} `)).map(line => line.slice(word.length + 1));
  return { summary: after('group').join(), members: after('member').sort() };
}
