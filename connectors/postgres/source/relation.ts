/** pgoutput's Relation message: R, int32 oid, schema, table, byte identity, int16 count, then per column byte flags (1 = key), name, int32 type, int32 typmod. */
import type { RowColumn } from './tableVersion.ts';

/** A table's columns from here on. */
export interface Relation {
  readonly oid: number;
  readonly schema: string;
  readonly table: string;
  readonly columns: readonly (RowColumn & { readonly isKey: boolean })[];
}

export function readRelation(bytes: Buffer, view: DataView, p: number): Relation {
  let at = p + 5;
  const text = (): string => {
    const end = bytes.indexOf(0, at);
    const value = bytes.toString('utf8', at, end);
    at = end + 1;
    return value;
  };
  const oid = view.getUint32(p + 1);
  const schema = text();
  const table = text();
  const count = view.getInt16(at + 1);
  at += 3;
  const columns = Array.from({ length: count }, () => {
    const isKey = (bytes[at++]! & 1) === 1;
    const name = text();
    const column = { name, isKey, typeOid: view.getUint32(at), typmod: view.getInt32(at + 4) };
    at += 8;
    return column;
  });
  return { oid, schema: schema === '' ? 'pg_catalog' : schema, table, columns };
}
