/** Helpers of the embedded broker's tests. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Logger } from '../../../../runtime/api/logger.ts';

/** Says nothing; warnings of a test that expects none would hide in it, so that those tests give a logger of their own. */
export const quietLogger: Logger = { error() {}, warn() {}, info() {}, debug() {} };

/** A new directory, removed after the test. */
export async function temporaryDir(context: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'millrace-embedded-'));
  context.after(() => rm(dir, { recursive: true, force: true }));
  return dir;
}
