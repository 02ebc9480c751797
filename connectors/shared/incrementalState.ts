/**
 * How far an incremental snapshot is, as part of the offset: Debezium's keys, with the keys of rows as JSON lists of the server's texts in place of serialized
 * Java objects. An offset of Debezium's thus begins its table again.
 */
import type { SourceOffset } from '../../runtime/api/index.ts';

export interface Collection {
  /** schema.table, or database.table */
  readonly id: string;
  readonly filter: string | null;
  readonly surrogateKey: string | null;
}

export interface IncrementalState {
  readonly correlationId: string | null;
  /** The first is being read. */
  readonly collections: readonly Collection[];
  /** Key of the last row read of it; null = it is not begun. */
  readonly lastKey: readonly string[] | null;
  /** Key of the last row that it had when it was begun. */
  readonly maximumKey: readonly string[] | null;
  readonly isPaused: boolean;
}

export const NOTHING: IncrementalState = {
  correlationId: null,
  collections: [],
  lastKey: null,
  maximumKey: null,
  isPaused: false,
};

const PREFIX = 'incremental_snapshot';
const NAME = `${PREFIX}_collections`;

export function stateOffset(state: IncrementalState): SourceOffset {
  if (state.collections.length === 0) return {};
  const { correlationId, collections, lastKey, maximumKey, isPaused } = state;
  return {
    [NAME]: JSON.stringify(
      collections.map(({ id, filter, surrogateKey }) => ({
        [`${NAME}_id`]: id,
        [`${NAME}_additional_condition`]: filter,
        [`${NAME}_surrogate_key`]: surrogateKey,
      })),
    ),
    ...(lastKey !== null && { [`${PREFIX}_primary_key`]: JSON.stringify(lastKey) }),
    ...(maximumKey !== null && { [`${PREFIX}_maximum_key`]: JSON.stringify(maximumKey) }),
    ...(correlationId !== null && { [`${PREFIX}_correlation_id`]: correlationId }),
    ...(isPaused && { [`${PREFIX}_paused`]: true }),
  };
}

export function stateOf(offset: SourceOffset | null): IncrementalState {
  const collections = parse(offset?.[NAME]);
  if (!Array.isArray(collections) || collections.length === 0) return NOTHING;
  const lastKey = keyOf(offset?.[`${PREFIX}_primary_key`]);
  const maximumKey = keyOf(offset?.[`${PREFIX}_maximum_key`]);
  const isBegun = lastKey !== null && maximumKey !== null;
  return {
    correlationId: textOf(offset?.[`${PREFIX}_correlation_id`]),
    collections: collections.map((entry: Record<string, unknown>) => ({
      id: String(entry[`${NAME}_id`]),
      filter: textOf(entry[`${NAME}_additional_condition`]),
      surrogateKey: textOf(entry[`${NAME}_surrogate_key`]),
    })),
    lastKey: isBegun ? lastKey : null,
    maximumKey: isBegun ? maximumKey : null,
    isPaused: String(offset?.[`${PREFIX}_paused`]) === 'true',
  };
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

function keyOf(value: unknown): readonly string[] | null {
  const key = parse(value);
  return Array.isArray(key) && key.every(part => typeof part === 'string') ? key : null;
}

/** Undefined for what is no JSON, such as the hexadecimal digits of Java objects. */
function parse(value: unknown): unknown {
  if (typeof value !== 'string') return undefined;
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}
