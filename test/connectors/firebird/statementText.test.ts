/** Statements of a connection without a character set: their text may be anything, and must not stop the reader. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClassicEvents } from '../../../connectors/firebird/journal/classicEvents.ts';
import { OpenTransaction } from '../../../connectors/firebird/source/openTransaction.ts';
import type { JournalEvent } from '../../../schemas/envelope/firebirdJournal.ts';
import { blockOf } from './journalBlock.ts';

const NONE = 0;
const WIN1251 = 52;
/** A comment in WIN1251: no UTF-8. */
const COMMENT = Buffer.from([0xc6, 0xf3, 0xea]);

function statement(charset: number): Buffer {
  const text = Buffer.concat([Buffer.from('alter table T add A integer /* '), COMMENT, Buffer.from(' */')]);
  const head = Buffer.from([16, 1, 0x55, 15, 0, 0, 0, 0, charset, text.length, 0, 0, 0]);
  return Buffer.concat([head, text]);
}

test('bytes that are no text become a character each', () => {
  for (const [charset, comment] of [
    [NONE, 'Æóê'],
    [WIN1251, 'Жук'],
  ] as const) {
    const block = blockOf(7, statement(charset));
    const sql = `alter table T add A integer /* ${comment} */`;
    const transaction = new OpenTransaction(7, 1, true);
    transaction.add(block, 1, { tables: new Map(), isAltering: false }, null);
    assert.deepEqual(transaction.statements, [sql]);
    const events: JournalEvent[] = [];
    new ClassicEvents(null).read(block, event => events.push(event));
    assert.deepEqual(events, [{ event: 'EXECUTE SQL', tnx: 7, sql, user: 'U' }]);
  }
});
