import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { EmbeddedBroker } from '../../../../runtime/broker/embedded/embeddedBroker.ts';
import type { FlushMode } from '../../../../runtime/broker/embedded/store.ts';
import { batchOf, readPartition, transactional, values } from '../../../contract/contractTools.ts';
import { quietLogger, temporaryDir } from './embeddedTools.ts';

/** A small file system of its own; null where mounting is not permitted. */
async function mountSmallDisk(dir: string, megabytes: number): Promise<(() => void) | null> {
  await mkdir(dir);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', dir], { stdio: 'ignore' });
  } catch {
    return null;
  }
  return () => execFileSync('umount', ['-l', dir]);
}

for (const flush of ['os', 'fsync'] as const satisfies readonly FlushMode[])
  test(`a full disk (flush ${flush}) is told as such, loses nothing acknowledged, and is over when there is room`, async context => {
    const disk = join(await temporaryDir(context), 'disk');
    const unmount = await mountSmallDisk(disk, 24);
    if (unmount === null) {
      context.skip('mounting a tmpfs is not permitted here (needs root)');
      return;
    }
    let broker: EmbeddedBroker | null = null;
    try {
      const filler = join(disk, 'filler');
      await writeFile(filler, Buffer.alloc(8 * 1024 * 1024, 1));
      const dataDir = join(disk, 'data');
      broker = await EmbeddedBroker.open(dataDir, quietLogger, { flush });
      const admin = broker.admin();
      await admin.createTopics([{ name: 't', partitions: 1, replicationFactor: -1 }]);

      let acknowledged = 0;
      const value = 'x'.repeat(900);
      const send = async (producer: ReturnType<EmbeddedBroker['producer']>) => {
        await producer.send([batchOf('t', 0, values(value, 100))]);
        acknowledged += 100;
      };
      const first = broker.producer({ clientId: 'first' });
      let refusal: unknown = null;
      while (refusal === null && acknowledged < 30_000)
        await Promise.all([send(first), send(first), send(first)]).catch(error => {
          refusal = error;
        });
      assert.equal((refusal as { code: string }).code, 'BROKER_DISK_FULL');
      assert.ok((refusal as Error).message.includes(dataDir) && /\d+ bytes free/.test((refusal as Error).message));
      await first.close();

      // Offsets of what was refused are given again; sends that were under way together may have been acknowledged before the full one.
      const [{ latest }] = await admin.offsets([{ topic: 't', partition: 0 }]);
      assert.equal(latest, acknowledged);
      const second = broker.producer({ clientId: 'second' });
      await assert.rejects(send(second), (error: { code?: string }) => error.code === 'BROKER_DISK_FULL');
      await second.close();
      await readPartition(broker, 't', 0, acknowledged);

      await rm(filler);
      const third = broker.producer({ clientId: 'third' });
      for (let i = 0; i < 10; i++) await send(third);
      await third.close();
      const committing = await transactional(broker, 'tx');
      committing.beginTransaction();
      await send(committing);
      await committing.commitTransaction();
      await committing.close();
      const check = async () => {
        const records = await readPartition(broker!, 't', 0, acknowledged, 'read_committed');
        assert.deepEqual(
          records.map(({ offset }) => offset),
          Array.from({ length: acknowledged }, (_, i) => i),
        );
      };
      await check();
      await broker.close();
      broker = await EmbeddedBroker.open(dataDir, quietLogger, { flush });
      await check();
    } finally {
      await broker?.close();
      unmount();
    }
  });
