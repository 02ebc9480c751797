/**
 * Chooses test files by kind, runs them with node:test, and ends with one line, `N passed, N failed`.
 * Kinds by file name: `*.test.ts` pure; `*.kafka.test.ts`, `*.pg.test.ts`, `*.mysql.test.ts`, `*.firebird.test.ts`, `*.e2e.test.ts` need servers; `*.chaos.test.ts` the long runs.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

type Kind = 'unit' | 'servers' | 'chaos';

const kindOf = (file: string): Kind =>
  /\.chaos\.test\.ts$/.test(file)
    ? 'chaos'
    : /\.(kafka|pg|mysql|firebird|e2e)\.test\.ts$/.test(file)
      ? 'servers'
      : 'unit';

const [wanted = 'all', pattern = ''] = process.argv.slice(2);
const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.test.ts') && !file.includes('node_modules'))
  .map(file => join('test', file))
  .filter(file => file.includes(pattern))
  .sort();

const of = (kind: Kind): string[] => files.filter(file => kindOf(file) === kind);
/** Tests that share servers run one file at a time: they measure conditions, and two cores are few. A file that hangs fails. */
const MINUTE_MS = 60_000;
const stages: { files: string[]; concurrency: number; timeoutMs: number }[] =
  wanted === 'unit'
    ? [{ files: of('unit'), concurrency: 2, timeoutMs: MINUTE_MS }]
    : wanted === 'chaos'
      ? [{ files: of('chaos'), concurrency: 1, timeoutMs: 120 * MINUTE_MS }]
      : [
          { files: of('unit'), concurrency: 2, timeoutMs: MINUTE_MS },
          { files: of('servers'), concurrency: 1, timeoutMs: 10 * MINUTE_MS },
        ];

let passed = 0;
let failed = 0;
const failures: string[] = [];

for (const stage of stages) {
  if (stage.files.length === 0) continue;
  const reporter = new spec();
  const stream = run({
    files: stage.files.map(file => join(process.cwd(), file)),
    concurrency: stage.concurrency,
    timeout: stage.timeoutMs,
  });
  stream.on('test:pass', event => {
    if (event.details.type !== 'suite' && event.skip === undefined) passed++;
  });
  stream.on('test:fail', event => {
    if (event.details.type === 'suite') return;
    failed++;
    failures.push(`${event.file ?? ''}: ${event.name}`);
  });
  stream.compose(reporter).pipe(process.stdout, { end: false });
  await new Promise<void>((resolve, reject) => {
    stream.once('end', resolve);
    stream.once('error', reject);
  });
}
await new Promise(resolve => setImmediate(resolve));
for (const failure of failures) console.log(`failed: ${failure}`);
if (passed + failed === 0) failed = 1;
const summary = `${passed} passed, ${failed} failed`;
if (wanted === 'unit') console.log(summary);
else writeFileSync('.services/summary', `${summary}\n`);
process.exit(failed > 0 ? 1 : 0);
