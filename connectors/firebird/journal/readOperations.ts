/**
 * The operations of one block, handed to a visitor as positions in the block's bytes: nothing is copied. Everything is checked against the block's
 * end; an operation that is not known stops the reader, since its length cannot be known.
 */
import { ConnectError } from '../../../schemas/errors.ts';

export const Operation = {
  start: 1,
  prepare: 2,
  commit: 3,
  rollback: 4,
  cleanup: 5,
  startSavepoint: 6,
  releaseSavepoint: 7,
  rollbackSavepoint: 8,
  insert: 9,
  update: 10,
  delete: 11,
  storeBlob: 12,
  executeSql: 13,
  setSequence: 14,
  executeSqlIn: 15,
  defineAtom: 16,
} as const;

/** Operations without a body. */
export type ControlCode = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

const UTF8 = 4;

export interface OperationVisitor {
  control(code: ControlCode): void;
  insert(table: string, start: number, end: number): void;
  update(table: string, oldStart: number, oldEnd: number, start: number, end: number): void;
  delete(table: string, start: number, end: number): void;
  /** A blob begins, or goes on where the last block of the transaction left it open. */
  blobBegin(high: number, low: number): void;
  blobChunk(start: number, end: number): void;
  blobEnd(): void;
  sql(user: string, charset: number, start: number, end: number): void;
  sequence(name: string, value: bigint): void;
}

/** Visits the operations in bytes[start, end). `where` names the block in errors, also those of the visitor; they count bytes from its first operation. */
export function readOperations(
  bytes: Buffer,
  start: number,
  end: number,
  where: string,
  visitor: OperationVisitor,
): void {
  try {
    visitOperations(bytes, start, end, where, visitor);
  } catch (error) {
    throw error instanceof ConnectError ? error.at({ position: where }) : error;
  }
}

function visitOperations(bytes: Buffer, start: number, end: number, where: string, visitor: OperationVisitor): void {
  const atoms: string[] = [];
  let at = start;
  const fail = (what: string): never => {
    throw new ConnectError('FB_SEGMENT_INVALID', `Operation byte ${at - start} of ${where}: ${what}.`);
  };
  const need = (count: number): void => {
    if (count > end - at) fail('an operation runs past the end of its block');
  };
  const atom = (): string => {
    need(4);
    const index = bytes.readInt32LE(at);
    const name = atoms[index];
    if (name === undefined) fail(`name ${index} is not defined`);
    at += 4;
    return name!;
  };
  /** Steps over a length and as many bytes; returns where these begin. */
  const slice = (): number => {
    need(4);
    const length = bytes.readUInt32LE(at);
    at += 4;
    need(length);
    const from = at;
    at += length;
    return from;
  };
  while (at < end) {
    const code = bytes[at++]!;
    switch (code) {
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
      case 6:
      case 7:
      case 8:
        visitor.control(code);
        break;
      case Operation.insert: {
        const table = atom();
        const from = slice();
        visitor.insert(table, from, at);
        break;
      }
      case Operation.update: {
        const table = atom();
        const oldFrom = slice();
        const oldEnd = at;
        const from = slice();
        visitor.update(table, oldFrom, oldEnd, from, at);
        break;
      }
      case Operation.delete: {
        const table = atom();
        const from = slice();
        visitor.delete(table, from, at);
        break;
      }
      case Operation.storeBlob: {
        need(8);
        visitor.blobBegin(bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4));
        at += 8;
        while (at < end) {
          need(2);
          const length = bytes.readUInt16LE(at);
          at += 2;
          if (length === 0) {
            visitor.blobEnd();
            break;
          }
          need(length);
          visitor.blobChunk(at, at + length);
          at += length;
        }
        break;
      }
      case Operation.executeSql: {
        const user = atom();
        const from = slice();
        visitor.sql(user, UTF8, from, at);
        break;
      }
      case Operation.executeSqlIn: {
        const user = atom();
        need(1);
        const charset = bytes[at++]!;
        const from = slice();
        visitor.sql(user, charset, from, at);
        break;
      }
      case Operation.setSequence: {
        const name = atom();
        need(8);
        visitor.sequence(name, bytes.readBigInt64LE(at));
        at += 8;
        break;
      }
      case Operation.defineAtom: {
        need(1);
        const length = bytes[at++]!;
        need(length);
        atoms.push(bytes.toString('utf8', at, at + length));
        at += length;
        break;
      }
      default:
        throw new ConnectError(
          'FB_SEGMENT_UNSUPPORTED',
          `${where}, operation byte ${at - 1 - start}: operation ${code} is not known.`,
        );
    }
  }
}
