import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeFolders } from '../../../../runtime/broker/embedded/makeFolders.ts';

test('folders are made with those above them', t => {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-folders-'));
  t.after(() => rmSync(dir, { recursive: true }));
  makeFolders(join(dir, 'a', 'b'));
  makeFolders(join(dir, 'a', 'b'));
  assert.ok(existsSync(join(dir, 'a', 'b')));
});

test('a file system that takes no folders ends it', { skip: !existsSync('/proc/self') }, () => {
  assert.throws(() => makeFolders('/proc/millrace/data'), { code: 'ENOENT' });
});
