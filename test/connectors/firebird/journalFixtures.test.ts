/** Segments that Firebird 4.0.5 and 5.0.4 wrote, against the events that are known to be in them. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { printJournal } from '../../../connectors/firebird/journalCommand.ts';
import { parseJson } from '../../../schemas/json/exactJson.ts';

type Document = { header: unknown; events: Record<string, unknown>[] };

for (const version of ['v4', 'v5']) {
  const folder = `test/fixtures/firebird/${version}`;
  const segments = readdirSync(folder)
    .filter(name => /\.journal-\d+$/.test(name))
    .sort()
    .map(name => `${folder}/${name}`);

  test(`${version}: every segment gives the expected events`, async () => {
    assert.equal(segments.length, 8);
    const documents: string[] = [];
    let text = '';
    await printJournal(segments, `${folder}/metadata.json`, async part => {
      text += part;
      if (!part.endsWith('\n ]\n}\n')) return;
      documents.push(text);
      text = '';
    });
    assert.equal(documents.length, segments.length);
    for (const [i, path] of segments.entries()) {
      const expected = parseJson(readFileSync(`${path}.json`, 'utf8')) as Document;
      const actual = parseJson(documents[i]!) as Document;
      assert.deepEqual(actual.header, expected.header);
      for (let n = 0; n < expected.events.length; n++) {
        assert.deepEqual(actual.events[n], expected.events[n], `${path}, event ${n}`);
      }
      assert.equal(actual.events.length, expected.events.length);
      // Order of columns is part of what is promised; deepEqual does not look at it.
      const names = (document: Document): unknown => document.events.map(event => Object.keys(event.record ?? {}));
      assert.deepEqual(names(actual), names(expected));
    }
  });

  test(`${version}: without metadata records are shown as bytes`, async () => {
    let text = '';
    await printJournal([segments[0]!], null, async part => {
      text += part;
    });
    const { events } = parseJson(text) as Document;
    const insert = events.find(event => event.event === 'INSERT')!;
    assert.equal(insert.record, null);
    assert.equal((insert.data as string).length, 2 * 1350);
  });
}
