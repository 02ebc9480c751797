/** Names that the server, or the driver, takes for databases and collections. Each check tells what is wrong; null = nothing. */

const MOST_DATABASE_BYTES = 63;
/** Of `database.collection`. */
const MOST_NAMESPACE_BYTES = 255;

export function databaseProblem(name: string): string | null {
  if (name === '') return 'it must not be empty';
  if (/[/\\. "$\0]/.test(name)) return 'a database name has none of / \\ . " $, spaces and zero characters';
  return Buffer.byteLength(name) > MOST_DATABASE_BYTES ? `it is longer than ${MOST_DATABASE_BYTES} bytes` : null;
}

export function collectionProblem(name: string): string | null {
  if (name === '') return 'it must not be empty';
  if (/[$\0]/.test(name)) return 'a collection name has no $ and no zero character';
  if (/^\.|\.\.|\.$/.test(name)) return 'a collection name has dots only between other characters';
  return name.startsWith('system.') ? 'collections of system. are those of the server' : null;
}

export const lengthProblem = (database: string, collection: string): string | null =>
  Buffer.byteLength(database) + 1 + Buffer.byteLength(collection) > MOST_NAMESPACE_BYTES
    ? `database and collection together are longer than ${MOST_NAMESPACE_BYTES} bytes`
    : null;
