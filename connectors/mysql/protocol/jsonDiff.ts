/**
 * Partial updates of JSON documents: a list of diffs, each an operation, a path and, unless it removes, a value in binary form. They are applied to the text
 * of the document before, whose leaves stay as they are written: no number is read and printed again.
 */
import { ByteReader } from './byteReader.ts';
import { jsonText } from './jsonBinary.ts';

/** A leaf is its text. Keys of an object are in the server's order: shorter ones first. */
type Node = string | { readonly items: Node[] } | { readonly members: Map<string, Node> };
type Leg = string | number;

const Operation = { replace: 0, insert: 1, remove: 2 } as const;

/** The text of the document after the diffs. */
export function applyJsonDiffs(before: string, diffs: Buffer): string {
  let root = parseNode(before);
  const reader = new ByteReader(diffs, 0, diffs.length);
  while (!reader.isAtEnd) {
    const operation = reader.uint(1);
    const path = parsePath(reader.packedSlice().toString('utf8'));
    let value: Node | null = null;
    if (operation !== Operation.remove) {
      const bytes = reader.packedSlice();
      value = parseNode(jsonText(bytes, 0, bytes.length));
    }
    root = changed(root, path, operation, value);
  }
  return nodeText(root);
}

function changed(root: Node, path: readonly Leg[], operation: number, value: Node | null): Node {
  const last = path.at(-1);
  if (last === undefined) {
    if (operation !== Operation.replace || value === null) throw new RangeError('a diff of JSON changes no part');
    return value;
  }
  let node = root;
  for (const leg of path.slice(0, -1)) node = childOf(node, leg);
  if (typeof node !== 'string' && 'items' in node && typeof last === 'number') {
    const { items } = node;
    if (operation === Operation.insert) items.splice(last, 0, value!);
    else if (last >= items.length) throw missing(last);
    else if (operation === Operation.replace) items[last] = value!;
    else items.splice(last, 1);
  } else if (typeof node !== 'string' && 'members' in node && typeof last === 'string') {
    const { members } = node;
    if (operation === Operation.insert) insertMember(members, last, value!);
    else if (!members.has(last)) throw missing(last);
    else if (operation === Operation.replace) members.set(last, value!);
    else members.delete(last);
  } else throw missing(last);
  return root;
}

function insertMember(members: Map<string, Node>, key: string, value: Node): void {
  const bytes = Buffer.from(key);
  const isBehind = (other: string): boolean => {
    const name = Buffer.from(other);
    return name.length === bytes.length ? name.compare(bytes) > 0 : name.length > bytes.length;
  };
  const behind = [...members].filter(([other]) => other !== key && isBehind(other));
  for (const [other] of behind) members.delete(other);
  members.set(key, value);
  for (const [other, node] of behind) members.set(other, node);
}

function childOf(node: Node, leg: Leg): Node {
  const child =
    typeof node === 'string'
      ? undefined
      : 'items' in node
        ? typeof leg === 'number'
          ? node.items[leg]
          : undefined
        : typeof leg === 'string'
          ? node.members.get(leg)
          : undefined;
  if (child === undefined) throw missing(leg);
  return child;
}

const missing = (leg: Leg): RangeError => new RangeError(`a diff of JSON names "${leg}", which the document has not`);

/** Such as $.a."b c"[3]. */
function parsePath(text: string): readonly Leg[] {
  const legs: Leg[] = [];
  const pattern = /\.\s*(?:"((?:[^"\\]|\\.)*)"|([^.[\]\s"]+))|\[\s*(\d+)\s*\]/y;
  let at = text.startsWith('$') ? 1 : 0;
  while (at < text.length) {
    pattern.lastIndex = at;
    const m = pattern.exec(text);
    if (m === null) throw new RangeError(`the path ${text} of a diff of JSON is malformed`);
    if (m[3] !== undefined) legs.push(Number(m[3]));
    else legs.push(m[1] === undefined ? m[2]! : String(JSON.parse(`"${m[1]}"`)));
    at = pattern.lastIndex;
  }
  return legs;
}

const TOKEN = /[[\]{},:]|"(?:[^"\\]|\\.)*"|[^[\]{},:"\s]+/g;

function parseNode(text: string): Node {
  const tokens = text.match(TOKEN) ?? [];
  let at = 0;
  const next = (): string => {
    const token = tokens[at++];
    if (token === undefined) throw new RangeError('a document of JSON ends too soon');
    return token;
  };
  const node = (): Node => {
    const token = next();
    if (token === '[') {
      const items: Node[] = [];
      while (tokens[at] !== ']') {
        items.push(node());
        if (tokens[at] === ',') at++;
      }
      at++;
      return { items };
    }
    if (token !== '{') return token;
    const members = new Map<string, Node>();
    while (tokens[at] !== '}') {
      const key = String(JSON.parse(next()));
      at++;
      members.set(key, node());
      if (tokens[at] === ',') at++;
    }
    at++;
    return { members };
  };
  return node();
}

function nodeText(node: Node): string {
  if (typeof node === 'string') return node;
  if ('items' in node) return `[${node.items.map(nodeText).join(',')}]`;
  return `{${Array.from(node.members, ([key, value]) => `${JSON.stringify(key)}:${nodeText(value)}`).join(',')}}`;
}
