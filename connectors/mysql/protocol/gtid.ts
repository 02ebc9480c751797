/**
 * Sets of transactions by global id. MySQL: `uuid:1-5:7,uuid:tag:1-3`; MariaDB: the last one of each domain, `0-1-5,1-1-3`. A transaction's own id is
 * a prefix that many share and a number.
 */

export interface Gtid {
  /** `uuid:`, `uuid:tag:` or `domain-server-`. */
  readonly prefix: string;
  readonly number: bigint;
}

export interface GtidSet {
  add(gtid: Gtid): void;
  has(gtid: Gtid): boolean;
  /** Whether all of the other set, of the same server's kind, is in this one. */
  includes(other: GtidSet): boolean;
  copy(): GtidSet;
  toString(): string;
}

/** Throws RangeError where the text is no such set. */
export const parseGtidSet = (text: string, isMariaDb: boolean): GtidSet =>
  isMariaDb ? MariaGtidList.parse(text) : MysqlGtidSet.parse(text);

/** First and last, both included; in order and apart from each other. */
type Interval = [first: bigint, last: bigint];

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TAG = /^[a-z_][a-z0-9_]{0,31}$/;
const INTERVAL = /^(\d{1,19})(?:-(\d{1,19}))?$/;

export class MysqlGtidSet implements GtidSet {
  private readonly sources = new Map<string, Interval[]>();

  static parse(text: string): MysqlGtidSet {
    const set = new MysqlGtidSet();
    for (const block of text.split(',').map(part => part.trim().toLowerCase())) {
      if (block === '') continue;
      const [uuid, ...parts] = block.split(':').map(part => part.trim());
      if (!UUID.test(uuid!)) throw new RangeError(`"${block}" is not a GTID set: it begins with no UUID`);
      let prefix = `${uuid}:`;
      for (const part of parts) {
        const interval = INTERVAL.exec(part);
        if (interval !== null) set.insert(prefix, BigInt(interval[1]!), BigInt(interval[2] ?? interval[1]!));
        else if (TAG.test(part)) prefix = `${uuid}:${part}:`;
        else throw new RangeError(`"${block}" is not a GTID set: "${part}" is neither an interval nor a tag`);
      }
    }
    return set;
  }

  add({ prefix, number }: Gtid): void {
    this.insert(prefix, number, number);
  }

  private insert(prefix: string, first: bigint, last: bigint): void {
    const intervals = this.sources.get(prefix);
    if (intervals === undefined) {
      this.sources.set(prefix, [[first, last]]);
      return;
    }
    const end = intervals.at(-1)!;
    if (first === end[1] + 1n) {
      end[1] = last;
      return;
    }
    intervals.push([first, last]);
    intervals.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
    let kept = 0;
    for (const interval of intervals.slice(1)) {
      const before = intervals[kept]!;
      if (interval[0] > before[1] + 1n) intervals[++kept] = interval;
      else if (interval[1] > before[1]) before[1] = interval[1];
    }
    intervals.length = kept + 1;
  }

  has({ prefix, number }: Gtid): boolean {
    return this.sources.get(prefix)?.some(([first, last]) => number >= first && number <= last) ?? false;
  }

  includes(other: GtidSet): boolean {
    if (!(other instanceof MysqlGtidSet)) return false;
    return [...other.sources].every(([prefix, intervals]) =>
      intervals.every(([first, last]) =>
        (this.sources.get(prefix) ?? []).some(([from, to]) => from <= first && last <= to),
      ),
    );
  }

  copy(): MysqlGtidSet {
    const set = new MysqlGtidSet();
    for (const [prefix, intervals] of this.sources) {
      set.sources.set(
        prefix,
        intervals.map(([first, last]) => [first, last]),
      );
    }
    return set;
  }

  private entries(): { uuid: string; tag: string; intervals: readonly Interval[] }[] {
    return Array.from(this.sources, ([prefix, intervals]) => {
      const [uuid, tag = ''] = prefix.split(':');
      return { uuid: uuid!, tag, intervals };
    }).sort((a, b) => (a.uuid + a.tag < b.uuid + b.tag ? -1 : 1));
  }

  toString(): string {
    const blocks = new Map<string, string>();
    for (const { uuid, tag, intervals } of this.entries()) {
      const ranges = intervals.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
      const section = [...(tag === '' ? [] : [tag]), ...ranges].join(':');
      blocks.set(uuid, `${blocks.get(uuid) ?? uuid}:${section}`);
    }
    return [...blocks.values()].join(',');
  }

  /**
   * As COM_BINLOG_DUMP_GTID has it: number of sources, then of each 16 bytes of UUID, the number of intervals, and first and last + 1 of each. Where there
   * are tags (MySQL 8.3), 1 stands in the lowest and the highest byte of the number, and a tag with twice its length before it behind each UUID.
   */
  encode(): Buffer {
    const entries = this.entries();
    const isTagged = entries.some(({ tag }) => tag !== '');
    const long = (value: bigint): Buffer => {
      const bytes = Buffer.alloc(8);
      bytes.writeBigUInt64LE(value);
      return bytes;
    };
    const count = BigInt(entries.length);
    const parts = [long(isTagged ? (1n << 56n) | (count << 8n) | 1n : count)];
    for (const { uuid, tag, intervals } of entries) {
      parts.push(Buffer.from(uuid.replaceAll('-', ''), 'hex'));
      if (isTagged) parts.push(Buffer.from([tag.length << 1]), Buffer.from(tag));
      parts.push(long(BigInt(intervals.length)));
      for (const [first, last] of intervals) parts.push(long(first), long(last + 1n));
    }
    return Buffer.concat(parts);
  }
}

export class MariaGtidList implements GtidSet {
  /** Server and sequence of the last transaction, by domain. */
  private readonly domains = new Map<string, { readonly prefix: string; readonly number: bigint }>();

  static parse(text: string): MariaGtidList {
    const list = new MariaGtidList();
    for (const gtid of text.split(',').map(part => part.trim())) {
      if (gtid === '') continue;
      const m = /^(\d+-\d+-)(\d+)$/.exec(gtid);
      if (m === null) throw new RangeError(`"${gtid}" is not a GTID of MariaDB`);
      list.add({ prefix: m[1]!, number: BigInt(m[2]!) });
    }
    return list;
  }

  private static domainOf(prefix: string): string {
    return prefix.slice(0, prefix.indexOf('-'));
  }

  add({ prefix, number }: Gtid): void {
    this.domains.set(MariaGtidList.domainOf(prefix), { prefix, number });
  }

  has({ prefix, number }: Gtid): boolean {
    const last = this.domains.get(MariaGtidList.domainOf(prefix));
    return last !== undefined && number <= last.number;
  }

  includes(other: GtidSet): boolean {
    return other instanceof MariaGtidList && [...other.domains.values()].every(gtid => this.has(gtid));
  }

  copy(): MariaGtidList {
    const list = new MariaGtidList();
    for (const gtid of this.domains.values()) list.add(gtid);
    return list;
  }

  toString(): string {
    return Array.from(this.domains.values(), ({ prefix, number }) => `${prefix}${number}`).join(',');
  }
}
