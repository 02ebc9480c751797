import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { open } from 'lmdb';
import { EmbeddedBroker } from '../../../../runtime/broker/embedded/embeddedBroker.ts';
import { until } from '../../../contract/contractTools.ts';
import { quietLogger, temporaryDir } from './embeddedTools.ts';

test('a reader that was killed does not keep old pages: its entry goes with the next maintenance', async context => {
  const dataDir = await temporaryDir(context);
  const broker = await EmbeddedBroker.open(dataDir, quietLogger, { maintenanceIntervalMs: 50 });
  context.after(() => broker.close());
  await broker.admin().createTopics([{ name: 't', partitions: 1, replicationFactor: -1 }]);
  const child = fork(join(import.meta.dirname, 'deadReader.ts'), [dataDir]);
  await once(child, 'message');
  const root = open({ path: join(dataDir, 'log'), noSubdir: false, readOnly: true, maxReaders: 1024 });
  context.after(() => root.close());
  const isListed = (): boolean => new RegExp(`^\\s*${child.pid}\\s`, 'm').test(root.readerList());
  assert.equal(isListed(), true);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await until('the entry is gone', async () => !isListed());
});
