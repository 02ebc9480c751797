/** Events as a consumer of JSON sees them, and what tests say of failures. */
import assert from 'node:assert/strict';
import { ConnectError } from '../../../runtime/api/index.ts';
import { type MysqlHarness, plain } from './mysqlHarness.ts';

export interface Event {
  readonly op: string;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
  readonly source: Record<string, unknown>;
  readonly transaction: Record<string, unknown> | null;
}

export const events = (harness: MysqlHarness): Event[] =>
  harness.records.flatMap(record => {
    const value = plain(record.value) as Event | null;
    return value === null || value.op === undefined ? [] : [value];
  });

export const failsWith =
  (code: string) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof ConnectError, String((error as Error).stack));
    assert.equal(error.code, code, error.describe());
    return true;
  };
