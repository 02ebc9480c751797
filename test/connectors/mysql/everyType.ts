/** A table with a column of every type, and random statements that fill and change it; the same ones for the same seed. */
import { Random } from '../../random.ts';

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly value: (r: Random) => string;
  /** Not in MariaDB, or there another type. */
  readonly isMysqlOnly?: boolean;
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
const integer =
  (bits: number, isUnsigned = false) =>
  (r: Random): string =>
    String(isUnsigned ? BigInt.asUintN(bits, r.long(bits)) : r.long(bits));
const two = (n: number): string => String(n).padStart(2, '0');
const date = (r: Random): string => `${1000 + r.below(8999)}-${two(1 + r.below(12))}-${two(1 + r.below(28))}`;
const time = (r: Random): string => `${two(r.below(24))}:${two(r.below(60))}:${two(r.below(60))}`;
const fraction = (r: Random, digits: number): string =>
  digits === 0 || r.chance(30) ? '' : `.${String(r.below(10 ** digits)).padStart(digits, '0')}`;
/** Forty characters at most. */
function short(r: Random): string {
  const text = r.text();
  let end = 0;
  for (let i = 0; i < 40 && end < text.length; i++) end += text.codePointAt(end)! > 0xffff ? 2 : 1;
  return text.slice(0, end);
}

export const columns: readonly Column[] = [
  { name: 't', type: 'TINYINT', value: integer(8) },
  { name: 'tu', type: 'TINYINT UNSIGNED', value: integer(8, true) },
  { name: 's', type: 'SMALLINT', value: integer(16) },
  { name: 'su', type: 'SMALLINT UNSIGNED', value: integer(16, true) },
  { name: 'm', type: 'MEDIUMINT', value: integer(24) },
  { name: 'mu', type: 'MEDIUMINT UNSIGNED', value: integer(24, true) },
  { name: 'i', type: 'INT', value: integer(32) },
  { name: 'iu', type: 'INT UNSIGNED', value: integer(32, true) },
  { name: 'b', type: 'BIGINT', value: integer(64) },
  { name: 'bu', type: 'BIGINT UNSIGNED', value: integer(64, true) },
  { name: 'z', type: 'BIGINT(20) ZEROFILL', value: integer(32, true) },
  { name: 'f', type: 'FLOAT', value: r => String(Math.fround(r.below(1e6) / 7)) },
  { name: 'd', type: 'DOUBLE', value: r => String((r.below(1e9) - 5e8) / 7) },
  { name: 'dc', type: 'DECIMAL(12,3)', value: r => `${r.chance(50) ? '-' : ''}${r.below(1e9)}.${r.below(1000)}` },
  { name: 'dl', type: 'DECIMAL(40,20)', value: r => `-${r.long(60)}`.replace('--', '') },
  { name: 'b1', type: 'BIT(1)', value: r => `b'${r.below(2)}'` },
  { name: 'b11', type: 'BIT(11)', value: r => String(r.below(2048)) },
  { name: 'y', type: 'YEAR', value: r => String(r.pick([0, 1901, 2155, 2000 + r.below(100)])) },
  { name: 'da', type: 'DATE', value: r => quoted(date(r)) },
  { name: 'ti', type: 'TIME', value: r => quoted(`${r.chance(30) ? '-' : ''}${r.below(838)}:${two(r.below(60))}:07`) },
  { name: 'ti3', type: 'TIME(3)', value: r => quoted(`${r.chance(50) ? '-' : ''}${time(r)}${fraction(r, 3)}`) },
  { name: 'ti6', type: 'TIME(6)', value: r => quoted(`${r.chance(50) ? '-' : ''}${time(r)}${fraction(r, 6)}`) },
  { name: 'dt', type: 'DATETIME', value: r => quoted(`${date(r)} ${time(r)}`) },
  { name: 'dt2', type: 'DATETIME(2)', value: r => quoted(`${date(r)} ${time(r)}${fraction(r, 2)}`) },
  { name: 'dt6', type: 'DATETIME(6)', value: r => quoted(`${date(r)} ${time(r)}${fraction(r, 6)}`) },
  { name: 'ts', type: 'TIMESTAMP NULL', value: r => quoted(`${1971 + r.below(60)}-03-04 ${time(r)}`) },
  {
    name: 'ts4',
    type: 'TIMESTAMP(4) NULL',
    value: r => quoted(`${1971 + r.below(60)}-03-04 ${time(r)}${fraction(r, 4)}`),
  },
  { name: 'c', type: 'CHAR(40)', value: r => quoted(short(r).trimEnd()) },
  { name: 'v', type: 'VARCHAR(300)', value: r => quoted(short(r)) },
  { name: 'l1', type: 'VARCHAR(40) CHARACTER SET latin1', value: r => quoted(r.pick(['é€ß', 'plain', '', 'Œ…™'])) },
  { name: 'u2', type: 'VARCHAR(40) CHARACTER SET ucs2', value: r => quoted(r.pick(['Ωé', 'plain', ''])) },
  { name: 'tx', type: 'TEXT', value: r => quoted(r.text()) },
  { name: 'bi', type: 'BINARY(5)', value: r => `0x${r.bytes().subarray(0, 5).toString('hex') || '00'}` },
  { name: 'vb', type: 'VARBINARY(200)', value: r => `x'${r.bytes().toString('hex')}'` },
  { name: 'bl', type: 'MEDIUMBLOB', value: r => `x'${r.bytes().toString('hex')}'` },
  { name: 'e', type: "ENUM('a','b,c','d''e','é')", value: r => String(1 + r.below(4)) },
  { name: 'st', type: "SET('x','y','z z','w')", value: r => String(r.below(16)) },
  { name: 'p', type: 'POINT', value: r => `ST_GeomFromText('POINT(${r.below(90)} ${r.below(90) / 4})', 4326)` },
  { name: 'g', type: 'GEOMETRY', value: r => `ST_GeomFromText('LINESTRING(0 0,${r.below(9)} 1)')` },
  {
    name: 'j',
    type: 'JSON',
    isMysqlOnly: true,
    value: r =>
      quoted(
        JSON.stringify({
          s: short(r),
          n: [r.below(9), null, true, 1.5, -2],
          o: { k: 70_000, l: 'x'.repeat(r.below(300)) },
        }),
      ),
  },
];

/** Statements that fill and change a table `t` of the columns. With many rows an INSERT, the changes drawn with each of them follow it. */
export function* workload(seed: number, used: readonly Column[], rows: number, rowsPerInsert = 1): Generator<string> {
  const r = new Random(seed);
  const value = (column: Column): string => (r.chance(12) ? 'NULL' : column.value(r));
  let inserts: string[] = [];
  let changes: string[] = [];
  for (let id = 1; id <= rows; id++) {
    inserts.push(`(${[id, ...used.map(value)].join(', ')})`);
    if (r.chance(40)) {
      const changed = used.filter(() => r.chance(30));
      if (changed.length > 0) {
        const sets = changed.map(column => `${column.name} = ${value(column)}`);
        changes.push(`UPDATE t SET ${sets.join(', ')} WHERE id = ${1 + r.below(id)}`);
      }
    }
    if (r.chance(10)) changes.push(`DELETE FROM t WHERE id = ${1 + r.below(id)}`);
    if (inserts.length < rowsPerInsert && id < rows) continue;
    yield `INSERT INTO t VALUES ${inserts.join(', ')}`;
    yield* changes;
    inserts = [];
    changes = [];
  }
}

export const everyTypeTable = (used: readonly Column[]): string =>
  `CREATE TABLE t (id INT PRIMARY KEY, ${used.map(({ name, type }) => `${name} ${type}`).join(', ')})`;
