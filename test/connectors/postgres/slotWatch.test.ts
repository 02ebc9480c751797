/** When the WAL that a slot keeps is warned of. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type KeptWal, walWarning } from '../../../connectors/postgres/source/slotWatch.ts';

const MIB = 1048576;
const state = (kept: number, safe: number | null, walStatus = 'reserved'): KeptWal => ({
  keptBytes: kept * MIB,
  safeBytes: safe === null ? null : safe * MIB,
  walStatus,
});

test('from half of what may be kept on, with rate and time', () => {
  assert.equal(walWarning(state(4999, null), null, 0), null);
  assert.equal(walWarning(state(40, 60), null, 0), null);
  assert.equal(walWarning(state(60, 40), null, 0), 'the slot keeps 60.0 MiB of WAL, and is lost after 40.0 MiB more');
  assert.equal(
    walWarning(state(60, 40), state(50, 50), 10_000),
    'the slot keeps 60.0 MiB of WAL, and is lost after 40.0 MiB more; it grows by 1.0 MiB a second, so 40 s are left',
  );
  assert.match(walWarning(state(60, 40), state(70, 30), 10_000)!, /more$/);
  assert.match(walWarning(state(1, null, 'unreserved'), null, 0)!, /next checkpoint/);
});
