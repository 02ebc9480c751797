/** Segments that Firebird 4.0.5 and 5.0.4 wrote, against the events that are known to be in them. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { printJournal } from '../../../connectors/firebird/journalCommand.ts';
import { parseJson } from '../../../schemas/json/exactJson.ts';

import { FIXTURE_VERSIONS, fixtureFolder, fixtureMetadata, fixtureSegments } from './fixtureSegments.ts';
import { FixtureStream } from './fixtureStream.ts';

type Document = { header: unknown; events: Record<string, unknown>[] };

/** Documents of the command, one for each segment. */
async function printed(segments: readonly string[], metadata: string): Promise<string[]> {
  const documents: string[] = [];
  let text = '';
  await printJournal(segments, metadata, async part => {
    text += part;
    if (!part.endsWith('\n ]\n}\n')) return;
    documents.push(text);
    text = '';
  });
  assert.equal(documents.length, segments.length);
  return documents;
}

for (const version of FIXTURE_VERSIONS) {
  const folder = fixtureFolder(version);
  const segments = fixtureSegments(version);

  test(`${version}: every segment gives the expected events`, async () => {
    assert.equal(segments.length, 8);
    const documents = await printed(segments, `${folder}/metadata.json`);
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

  test(`${version}: the schema history of a source serves as metadata, from any segment on`, async () => {
    const expected = await printed(segments, `${folder}/metadata.json`);
    const stream = new FixtureStream(version);
    stream.add();
    await stream.open(null);
    await stream.drain();
    const metadata = fixtureMetadata(version);
    const history = metadata.history.map(entry => ({
      ...entry,
      position: stream.positions.get(entry.tnx) ?? { sequence: 0, offset: 0 },
    }));
    const file = join(stream.folder, 'positions.json');
    writeFileSync(file, JSON.stringify({ ...metadata, history }));
    // Where the beginning of a blob was not read, its end looks like an empty one.
    const comparable = (documents: readonly string[]): string[] =>
      documents.map(text => text.replace(/ {2}\{"event": "STORE BLOB", "blobId": "[^"]+", "data": "", .*\n/g, ''));
    for (let from = 0; from < segments.length; from++) {
      const actual = await printed(segments.slice(from), file);
      assert.ok(
        comparable(actual).join() === comparable(expected.slice(from)).join(),
        `from segment ${from + 1} on it gives the same`,
      );
    }
    await stream.close();
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
