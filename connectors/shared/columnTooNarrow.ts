/** Thrown by field writers where a value needs a wider column than there is, and the column may be changed. It never leaves a sink. */
export class ColumnTooNarrow extends Error {
  readonly column: string;
  /** A type that holds every value of the field. */
  readonly widerType: string;

  constructor(column: string, widerType: string) {
    super(`column ${column} is too narrow`);
    this.column = column;
    this.widerType = widerType;
  }
}
