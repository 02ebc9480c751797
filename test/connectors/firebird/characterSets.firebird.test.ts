/** Text in every single-byte character set of Firebird 5.0 and 4.0, byte by byte, against the server's own conversion. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Database, disconnect } from '../../../connectors/firebird/connection.ts';
import { bytesPerCharacter, textDecoder } from '../../../connectors/firebird/journal/characterSets.ts';
import { type FirebirdVersion, TestFirebird } from '../../services/localFirebird.ts';

/** What the server makes of bytes that are no character. */
const NOTHING: ReadonlySet<string> = new Set(['\0', '\ufffd']);
const AT_ONCE = 64;

const hexOf = (byte: number): string => byte.toString(16).padStart(2, '0');

/** Characters of the bytes [from, to) in the server's eyes. */
async function characters(connection: Database, name: string, from: number, to: number): Promise<string[]> {
  const columns = Array.from({ length: to - from }, (_, i) => {
    const character = `cast(x'${hexOf(from + i)}' as varchar(1) character set ${name})`;
    return `hex_encode(cast(cast(${character} as varchar(1) character set utf8) as varbinary(4))) c${i}`;
  });
  const [row] = await connection.queryAsync(`select ${columns.join(', ')} from rdb$database`);
  return Object.values(row!).map(hex => Buffer.from(String(hex), 'hex').toString());
}

for (const version of [5, 4] as readonly FirebirdVersion[])
  test(`Firebird ${version}: text in all single-byte character sets`, async t => {
    const database = await TestFirebird.create(t, version);
    const connection = await database.connect();
    const sets = await connection.queryAsync<{ ID: number; NAME: string; WIDTH: number }>(
      `select rdb$character_set_id id, trim(rdb$character_set_name) name, rdb$bytes_per_character width
       from rdb$character_sets where rdb$character_set_id > 1 order by 1`,
    );
    assert.ok(sets.length > 40);
    for (const { ID, NAME, WIDTH } of sets) {
      assert.equal(bytesPerCharacter(ID), WIDTH, NAME);
      if (WIDTH > 1) continue;
      const decode = textDecoder(ID);
      const end = NAME === 'ASCII' ? 128 : 256;
      for (let from = 0; from < end; from += AT_ONCE) {
        for (const [i, expected] of (await characters(connection, NAME, from, from + AT_ONCE)).entries()) {
          const byte = from + i;
          if (byte > 0 && NOTHING.has(expected)) continue;
          assert.equal(decode(Buffer.of(byte), 0, 1), expected, `${NAME}, byte ${hexOf(byte)}`);
        }
      }
    }
    await disconnect(connection);
  });
