/** stop.at, as places of a log and as sets of GTIDs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSettings } from '../../../connectors/mysql/config.ts';
import { parseGtidSet } from '../../../connectors/mysql/protocol/gtid.ts';
import { parseStopPoint } from '../../../connectors/mysql/source/stopPoint.ts';

test('a place is reached at it and behind it, in later files too', () => {
  const stop = parseStopPoint('binlog.000009:500', false);
  const at = (file: string, position: number): boolean => stop.isReached({ file, position, gtids: null });
  assert.deepEqual(
    [at('binlog.000009', 499), at('binlog.000009', 500), at('binlog.000010', 4), at('binlog.000008', 900)],
    [false, true, true, false],
  );
});

test('a set of GTIDs is reached once all of it is there', () => {
  const uuid = '3e11fa47-71ca-11e1-9e33-c80aa9429562';
  const reached = (stop: string, seen: string, isMariaDb = false): boolean =>
    parseStopPoint(stop, isMariaDb).isReached({ file: 'b.1', position: 4, gtids: parseGtidSet(seen, isMariaDb) });
  assert.equal(reached(`${uuid}:1-5`, `${uuid}:1-4`), false);
  assert.equal(reached(`${uuid}:1-5`, `${uuid}:1-7`), true);
  assert.equal(reached(`${uuid}:3-5:9`, `${uuid}:1-7`), false);
  assert.equal(reached('0-1-7', '0-2-8', true), true);
  assert.equal(reached('0-1-7', '1-2-8', true), false);
});

test('what is neither is refused with the key', () => {
  const config = { 'database.hostname': 'h', 'database.user': 'u', 'topic.prefix': 'p', 'stop.at': 'tomorrow' };
  const { errors } = parseSettings(config, 'mysql');
  assert.deepEqual(
    errors.map(({ key }) => key),
    ['stop.at'],
  );
});
