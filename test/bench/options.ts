import { parseArgs } from 'node:util';

export const CASES = [
  'pg-snapshot-to-topic',
  'pg-stream-to-topic',
  'topic-to-pg',
  'topic-to-mysql',
  'pg-to-pg',
  'firebird-journal-to-topic',
] as const;
export type CaseName = (typeof CASES)[number];

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
}

export const USAGE = `usage: npm run bench -- <case> [--broker kafka|embedded] [--peer] [--records N] [--columns 3|26] [--runs N] [--connections N]
cases: ${CASES.join(', ')}
--records defaults to 1,000,000, with --peer to 300,000; --runs to 3`;

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
    },
  });
  const caseName = CASES.find(name => name === positionals[0]);
  const { broker, peer, columns } = values;
  const records = Number((values.records ?? (peer ? '300000' : '1000000')).replaceAll(/[,_]/g, ''));
  const runs = Number(values.runs);
  const isCount = (n: number): boolean => Number.isSafeInteger(n) && n > 0;
  if (
    caseName === undefined ||
    positionals.length !== 1 ||
    (broker !== 'kafka' && broker !== 'embedded') ||
    (columns !== '3' && columns !== '26') ||
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
  };
}
