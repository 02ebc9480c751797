import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LineSplitter } from '../../../connectors/file/lineSplitter.ts';

function take(splitter: LineSplitter, max = 100): string[] {
  const lines = splitter.take(max);
  return lines === null ? [] : lines.starts.map((start, i) => lines.bytes.toString('utf8', start, lines.ends[i]));
}

test('lines are cut at any chunk boundary; positions count bytes', () => {
  const text = Buffer.from('first\r\ngrün\n\nlone\rcr\nlast without end');
  const whole = ['first', 'grün', '', 'lone\rcr'];
  for (let size = 1; size <= text.length; size++) {
    const splitter = new LineSplitter(1000);
    const found: string[] = [];
    for (let at = 0; at < text.length; at += size) {
      splitter.add(text.subarray(at, at + size));
      found.push(...take(splitter));
    }
    assert.deepEqual(found, whole, `chunks of ${size}`);
    assert.equal(splitter.position, 1000 + text.lastIndexOf('\n') + 1);
  }
});

test('no more lines are taken than asked for', () => {
  const splitter = new LineSplitter(0);
  splitter.add(Buffer.from('a\nb\nc\n'));
  assert.deepEqual(take(splitter, 2), ['a', 'b']);
  assert.equal(splitter.position, 4);
  assert.deepEqual(take(splitter, 2), ['c']);
  assert.equal(splitter.take(2), null);
});
