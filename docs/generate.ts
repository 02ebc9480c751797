/**
 * Writes the parts of the documentation that come from code: docs/errors.md from the list of error codes, the table of docs/metrics.md, option tables between
 * `<!-- options: … -->` and `<!-- /options -->` from configuration definitions, and between `<!-- errors: … -->` and `<!-- /errors -->` the codes that begin so. `npm run docs` writes; `npm run docs -- --check` only compares.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigKeys, Plugin, PluginModule } from '../runtime/api/index.ts';
import { workerKeys } from '../runtime/config/workerKeys.ts';
import { furtherMetrics, mbeans } from '../runtime/metrics/mbeans.ts';
import { taskCounters, taskGauges, taskTimings, timingName, timingParts } from '../runtime/metrics/taskMetricNames.ts';
import { errorCodes } from '../schemas/errorCodes.ts';

const root = join(import.meta.dirname, '..');

/** Pages with option tables; a marker names a plugin's class, or `worker`. */
const PAGES: readonly { page: string; module: string | null }[] = [
  { page: 'docs/worker-configuration.md', module: null },
  { page: 'connectors/postgres/README.md', module: 'connectors/postgres/index.ts' },
  { page: 'connectors/postgres/sink/README.md', module: 'connectors/postgres/index.ts' },
  { page: 'connectors/mysql/README.md', module: 'connectors/mysql/index.ts' },
  { page: 'connectors/mysql/sink/README.md', module: 'connectors/mysql/index.ts' },
  { page: 'connectors/firebird/README.md', module: 'connectors/firebird/index.ts' },
  { page: 'connectors/elasticsearch/README.md', module: 'connectors/elasticsearch/index.ts' },
  { page: 'connectors/mongodb/README.md', module: 'connectors/mongodb/index.ts' },
  { page: 'connectors/file/README.md', module: 'connectors/file/index.ts' },
  { page: 'connectors/datagen/README.md', module: 'connectors/datagen/index.ts' },
];

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

function optionTable(keys: ConfigKeys): string {
  const rows = Object.entries(keys)
    .filter(([, key]) => !key.internal)
    .map(([name, key]) => {
      const fallback =
        key.default === undefined
          ? '**required**'
          : key.default === null || key.default === ''
            ? ''
            : `\`${key.default}\``;
      const values = key.oneOf ? ` One of ${key.oneOf.map(v => `\`${v}\``).join(', ')}.` : '';
      const aliases =
        key.aliases && key.aliases.length > 0 ? ` Also: ${key.aliases.map(a => `\`${a}\``).join(', ')}.` : '';
      return `| \`${name}\` | ${key.type.toLowerCase()} | ${cell(fallback)} | ${cell(key.documentation + values + aliases)} |`;
    });
  return ['| Key | Type | Default | Meaning |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

function errorTable(prefix: string): string {
  const codes = Object.entries(errorCodes).filter(([code]) => code.startsWith(prefix));
  if (codes.length === 0) throw new Error(`no error code begins with ${prefix}`);
  const rows = codes.map(([code, text]) => `| \`${code}\` | ${cell(text)} |`);
  return ['| Code | Meaning, and what to do |', '| --- | --- |', ...rows].join('\n');
}

function errorsPage(): string {
  return `# Error codes

Every error that a user can see has a stable code, stands in the log, in the status trace and, where a request caused it, in the answer. It names
connector, task, table and position where they are known. This page is made from \`schemas/errorCodes.ts\` by \`npm run docs\`.

${errorTable('')}
`;
}

function metricTable(): string {
  const rows: [string, string, string][] = [];
  const push = (kind: string, type: string, name: string, help: string): void =>
    void rows.push([`kafka_connect_${type}_${name}`, kind, help]);
  for (const [name, { type, help }] of Object.entries(taskCounters)) push('counter', type, name, help);
  for (const [name, { type, help }] of Object.entries(taskGauges)) push('gauge', type, name, help);
  for (const name of Object.keys(taskTimings) as (keyof typeof taskTimings)[]) {
    const { type, help } = taskTimings[name];
    for (const part of timingParts(name)) push('gauge', type, timingName(name, part), `${help}, ${part}.`);
  }
  const lines = rows.map(([name, kind, help]) => `| \`${name}\` | ${kind} | ${cell(help)} |`);
  return ['| Metric | Kind | Meaning |', '| --- | --- | --- |', ...lines].join('\n');
}

function mbeanTable(): string {
  const rows = mbeans.flatMap(({ type, attributes }) =>
    Object.entries(attributes).map(([attribute, here], i) => {
      return `| ${i === 0 ? `\`${type}\`` : ''} | \`${attribute}\` | \`${cell(here)}\` |`;
    }),
  );
  return ['| `kafka.connect:type=` | Attribute | Here |', '| --- | --- | --- |', ...rows].join('\n');
}

function furtherTable(): string {
  const rows = Object.entries(furtherMetrics).map(([name, help]) => `| \`${name}\` | ${cell(help)} |`);
  return ['| Metric | Meaning |', '| --- | --- |', ...rows].join('\n');
}

async function withTables(text: string, module: string | null): Promise<string> {
  const plugins: readonly Plugin[] =
    module === null ? [] : ((await import(join(root, module))) as PluginModule).plugins;
  const withErrors = text.replace(
    /(<!-- errors: (\S+) -->\n)[\s\S]*?(<!-- \/errors -->)/g,
    (_, open: string, prefix: string, close: string) => `${open}\n${errorTable(prefix)}\n\n${close}`,
  );
  return withErrors.replace(
    /(<!-- options: (\S+) -->\n)[\s\S]*?(<!-- \/options -->)/g,
    (_, open: string, name: string, close: string) => {
      const keys = name === 'worker' ? workerKeys : plugins.find(p => p.className === name)?.configDef.keys;
      if (keys === undefined) throw new Error(`${module}: no plugin ${name}`);
      return `${open}\n${optionTable(keys)}\n\n${close}`;
    },
  );
}

const metricTables: Readonly<Record<string, string>> = {
  metrics: metricTable(),
  mbeans: mbeanTable(),
  further: furtherTable(),
};
const metricsPage = readFileSync(join(root, 'docs/metrics.md'), 'utf8').replace(
  /(<!-- (metrics|mbeans|further) -->\n)[\s\S]*?(<!-- \/\2 -->)/g,
  (_, open: string, name: string, close: string) => `${open}\n${metricTables[name]}\n\n${close}`,
);
const wanted = new Map<string, string>([
  ['docs/errors.md', errorsPage()],
  ['docs/metrics.md', metricsPage],
]);
for (const { page, module } of PAGES) {
  if (existsSync(join(root, page))) wanted.set(page, await withTables(readFileSync(join(root, page), 'utf8'), module));
}

const stale = [...wanted].filter(
  ([page, text]) => !existsSync(join(root, page)) || readFileSync(join(root, page), 'utf8') !== text,
);
if (process.argv.includes('--check')) {
  for (const [page] of stale) console.error(`${page} is not what the code says: run npm run docs`);
  process.exit(stale.length > 0 ? 1 : 0);
}
for (const [page, text] of stale) {
  writeFileSync(join(root, page), text);
  console.log(`wrote ${page}`);
}
