import { describe, it } from 'node:test';
import { largeTransaction, rowOf64MiB } from './mysqlSizes.ts';
import { runMysqlFaults } from './runMysqlFaults.ts';

describe('MySQL to MySQL', () => {
  it('loses nothing under many faults', t =>
    runMysqlFaults({ rounds: 8, maxPauseMs: 3000, report: line => t.diagnostic(line) }));

  it('carries a row of 64 MiB where the limits allow it', () => rowOf64MiB());

  it('reads a transaction of 2 GiB in bounded memory', t =>
    largeTransaction({ rows: 32_768, rowBytes: 65_536, maxWorkerMiB: 800, report: line => t.diagnostic(line) }));
});
