import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RestartBudget } from '../../../../runtime/herder/lifecycle/restartPolicy.ts';

const settings = { max: 10, initialDelayMs: 1_000, maxDelayMs: 60_000 };

/** Waits given to a task that runs for `runMs` and fails, again and again; null = it is not restarted any more. */
function waits(runs: readonly number[], of = settings): (number | null)[] {
  const budget = new RestartBudget();
  let nowMs = 0;
  return runs.map(runMs => {
    budget.running(nowMs);
    nowMs += runMs;
    const waitMs = budget.afterFailure(of, nowMs);
    nowMs += waitMs ?? 0;
    return waitMs;
  });
}

describe('the wait before a restart', () => {
  it('doubles for failures in a row, up to the longest', () => {
    assert.deepEqual(waits([0, 100, 0, 900, 0, 0, 0, 0]), [1e3, 2e3, 4e3, 8e3, 16e3, 32e3, 60e3, 60e3]);
  });

  it('is the first again after a run that was longer than it, and than some seconds', () => {
    assert.deepEqual(waits([0, 0, 12_000, 12_000, 0]), [1e3, 2e3, 1e3, 1e3, 2e3]);
    assert.deepEqual(waits([0, 0, 0, 0, 0, 20_000, 70_000]), [1e3, 2e3, 4e3, 8e3, 16e3, 1e3, 1e3]);
    assert.deepEqual(waits([0, 0, 0, 0, 0, 0, 20_000]), [1e3, 2e3, 4e3, 8e3, 16e3, 32e3, 60e3]);
  });

  it('does not count a part that never came up as running', () => {
    const budget = new RestartBudget();
    assert.equal(budget.afterFailure(settings, 0), 1_000);
    assert.equal(budget.afterFailure(settings, 100_000), 2_000);
  });

  it('ends after errors.restart.max failures in a row', () => {
    assert.deepEqual(waits([0, 0, 0], { ...settings, max: 2 }), [1e3, 2e3, null]);
    assert.deepEqual(waits([0, 0, 20_000, 0], { ...settings, max: 2 }), [1e3, 2e3, 1e3, 2e3]);
    assert.deepEqual(waits([0], { ...settings, max: 0 }), [null]);
  });
});
