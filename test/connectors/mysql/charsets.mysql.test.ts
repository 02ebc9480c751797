/** Every byte of every single-byte character set is the character that the server makes of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { textDecoding } from '../../../connectors/mysql/types/charsets.ts';
import { MARIADB_URL, MYSQL_URL } from './mysqlHarness.ts';

/** Not read: a column of it is an error unless it is left out. */
const NOT_READ = ['swe7'];

for (const url of [MYSQL_URL, MARIADB_URL]) {
  test(`${url === MYSQL_URL ? 'MySQL' : 'MariaDB'}: single-byte character sets`, async t => {
    const sql = await createConnection({ uri: url, charset: 'utf8mb4' });
    t.after(() => sql.end());
    const [sets] = await sql.query<RowDataPacket[]>(
      "SELECT character_set_name AS name FROM information_schema.character_sets WHERE maxlen = 1 AND character_set_name NOT IN ('binary', 'ascii')",
    );
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const notRead: string[] = [];
    for (const { name } of sets) {
      const decode = textDecoding(name as string);
      if (decode === null || decode === 'utf8') {
        notRead.push(name as string);
        continue;
      }
      const [[row]] = await sql.query<RowDataPacket[]>(
        `SELECT CONVERT(_${name} x'${bytes.toString('hex')}' USING utf8mb4) AS text`,
      );
      assert.equal(decode(bytes, 0, bytes.length), row!.text, name as string);
    }
    assert.deepEqual(notRead, NOT_READ);
  });
}

test('syllables of euckr beyond those of EUC-KR', () => {
  const decode = textDecoding('euckr') as (bytes: Buffer, start: number, end: number) => string;
  assert.equal(decode(Buffer.from('8141b0a1', 'hex'), 0, 4), '갂가');
});
