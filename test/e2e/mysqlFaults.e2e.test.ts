import { describe, it } from 'node:test';
import { runMysqlFaults } from '../chaos/runMysqlFaults.ts';

describe('MySQL to MySQL under one fault of each kind', () => {
  it('loses nothing', t => runMysqlFaults({ rounds: 1, maxPauseMs: 1000, report: line => t.diagnostic(line) }));
});
