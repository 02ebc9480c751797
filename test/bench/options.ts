import { parseArgs } from 'node:util';

export const CASES = [
  'pg-snapshot-to-topic',
  'pg-stream-to-topic',
  'topic-to-pg',
  'topic-to-mysql',
  'pg-to-pg',
  'mysql-to-topic',
  'mysql-decode',
  'exactly-once',
  'rebalance',
  'cluster-scale',
  'firebird-journal-to-topic',
] as const;
export type CaseName = (typeof CASES)[number];

export const NEEDS: Readonly<Record<CaseName, readonly ('postgres' | 'mysql' | 'broker')[]>> = {
  'pg-snapshot-to-topic': ['postgres', 'broker'],
  'pg-stream-to-topic': ['postgres', 'broker'],
  'topic-to-pg': ['postgres', 'broker'],
  'topic-to-mysql': ['postgres', 'mysql', 'broker'],
  'pg-to-pg': ['postgres', 'broker'],
  'mysql-to-topic': ['mysql', 'broker'],
  'mysql-decode': ['mysql'],
  'exactly-once': ['broker'],
  rebalance: ['broker'],
  'cluster-scale': ['broker'],
  'firebird-journal-to-topic': ['broker'],
};

export interface Options {
  readonly caseName: CaseName;
  readonly broker: 'kafka' | 'embedded';
  /** Whether the other way of doing the same runs too, on the same data. */
  readonly peer: boolean;
  readonly records: number;
  readonly columns: 3 | 26;
  readonly runs: number;
  /** `connections` of the sink; null = its default. */
  readonly connections: string | null;
  /** topic-to-pg: into a table that has all the keys. */
  readonly existing: boolean;
  /** pg-to-pg: what pgbench left, instead of updates of one table. */
  readonly backlog: boolean;
  /** With backlog: a target that is far and slow to commit. */
  readonly far: boolean;
}

export const USAGE = `usage: npm run bench -- <case> [--broker kafka|embedded] [--peer] [--records N] [--columns 3|26] [--runs N] [--connections N]
  topic-to-pg [--existing]           into a table that has all the keys
  cluster-scale [--peer]             500 connectors with two tasks each; with --peer one, which Kafka Connect runs too
  pg-to-pg [--backlog [--far]]       what 50 clients of pgbench left; into a target with durable commits, 2 ms away
cases: ${CASES.join(', ')}
--records defaults to 1,000,000, with --peer to 300,000, with --backlog to 800,000; --runs to 3. rebalance takes no options.`;

/** Throws an Error with the usage for anything else. */
export function parseOptions(argv: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      broker: { type: 'string', default: 'kafka' },
      peer: { type: 'boolean', default: false },
      records: { type: 'string' },
      columns: { type: 'string', default: '3' },
      runs: { type: 'string', default: '3' },
      connections: { type: 'string' },
      existing: { type: 'boolean', default: false },
      backlog: { type: 'boolean', default: false },
      far: { type: 'boolean', default: false },
    },
  });
  const caseName = CASES.find(name => name === positionals[0]);
  const { broker, peer, columns, existing, backlog, far } = values;
  const records = Number(
    (values.records ?? (backlog ? '800000' : peer ? '300000' : '1000000')).replaceAll(/[,_]/g, ''),
  );
  const runs = Number(values.runs);
  const isCount = (n: number): boolean => Number.isSafeInteger(n) && n > 0;
  if (
    caseName === undefined ||
    positionals.length !== 1 ||
    (broker !== 'kafka' && broker !== 'embedded') ||
    (columns !== '3' && columns !== '26') ||
    (existing && caseName !== 'topic-to-pg') ||
    (backlog && caseName !== 'pg-to-pg') ||
    (far && !backlog) ||
    !isCount(records) ||
    !isCount(runs)
  )
    throw new Error(USAGE);
  return {
    caseName,
    broker,
    peer,
    records,
    columns: columns === '3' ? 3 : 26,
    runs,
    connections: values.connections ?? null,
    existing,
    backlog,
    far,
  };
}
