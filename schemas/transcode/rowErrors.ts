/**
 * The two ways in which a record cannot be written: a row whose bytes are not what its layout says, and a layout that does not fit its schema.
 * Both paths, generated code and plain view, report through here, so that they say the same.
 */
import { ConnectError } from '../errors.ts';

/** A number each, so that generated code can name one. */
export const RowFault = {
  truncated: 0,
  columnCount: 1,
  columnKind: 2,
  columnLength: 3,
  nullNotAllowed: 4,
  unchangedNotAllowed: 5,
  notANumber: 6,
  outOfRange: 7,
  malformedValue: 8,
  badChoice: 9,
  longNotAllowed: 10,
} as const;
export type RowFault = (typeof RowFault)[keyof typeof RowFault];

const text: Readonly<Record<RowFault, string>> = {
  [RowFault.truncated]: 'the row ends before the value does',
  [RowFault.columnCount]: 'the row has another number of columns than its table',
  [RowFault.columnKind]: 'the value is in another form (text or binary) than expected',
  [RowFault.columnLength]: 'the value has another length than its type',
  [RowFault.nullNotAllowed]: 'the value is null where the schema does not allow it',
  [RowFault.unchangedNotAllowed]: 'the row does not carry this value',
  [RowFault.notANumber]: 'the value is not a number',
  [RowFault.outOfRange]: 'the value is out of the range of its schema',
  [RowFault.malformedValue]: 'the value is malformed',
  [RowFault.badChoice]: 'the record has a kind that its layout does not know',
  [RowFault.longNotAllowed]: 'an integer of the record is null or out of range where the schema does not allow it',
};

/** A fault whose column and record the reader of a slice does not know; who reads the row makes the error of it. */
export class SliceFault {
  readonly fault: RowFault;
  readonly cause: unknown;

  constructor(fault: RowFault, cause?: unknown) {
    this.fault = fault;
    this.cause = cause;
  }
}

export class RowError extends ConnectError {
  /** Its index in the row, or -1 where the fault is not of one column. */
  readonly column: number;

  constructor(fault: RowFault, column: number, index: number, cause?: unknown) {
    const where = column < 0 ? '' : `column ${column} of `;
    const detail = cause instanceof Error ? `: ${cause.message}` : '';
    super('TRANSCODE_ROW_INVALID', `${where}record ${index} of the batch cannot be written: ${text[fault]}${detail}`, {
      cause,
    });
    this.column = column;
  }
}

export const rowError = (fault: RowFault, column: number, index: number, cause?: unknown): RowError =>
  new RowError(fault, column, index, cause);

export const layoutError = (message: string): ConnectError =>
  new ConnectError('TRANSCODE_LAYOUT_INVALID', `a connector described its records wrongly: ${message}`);
