import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearestName } from '../../../runtime/api/nearName.ts';

test('the name that differs least is meant, also where its ending was left off', () => {
  const names = [
    'database.port',
    'database.hostname',
    'heartbeat.interval.ms',
    'topic.prefix',
    'topics',
    'topics.regex',
  ];
  const cases = [
    ['database.host', 'database.hostname'],
    ['database.prot', 'database.port'],
    ['heartbeat.interval', 'heartbeat.interval.ms'],
    ['topic', 'topics'],
    ['topic.prefixes', 'topic.prefix'],
    ['database', undefined],
    ['', undefined],
    ['something.else', undefined],
  ] as const;
  for (const [written, meant] of cases) assert.equal(nearestName(names, written), meant, written);
});
