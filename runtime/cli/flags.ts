/** The flags of commands that set worker keys; their help is that of the keys. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { type Config, ConnectError } from '../api/index.ts';
import { workerKeys } from '../config/workerKeys.ts';

type FlagOptions = NonNullable<ParseArgsConfig['options']>;

const flagKeys = {
  'bootstrap-servers': 'bootstrap.servers',
  'schema-registry': 'schema.registry.url',
  'data-dir': 'data.dir',
  listen: 'listen',
  'group-id': 'group.id',
  'log-level': 'log.level',
} as const satisfies Record<string, keyof typeof workerKeys>;

export type WorkerFlag = keyof typeof flagKeys;

export interface ParsedFlags {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly positionals: readonly string[];
  /** What the flags say of worker keys. */
  readonly config: Config;
}

/** Throws CLI_USAGE for what is not understood. `--set key=value` sets any worker key, for commands that have worker keys. */
export function parseFlags(
  args: readonly string[],
  workerFlags: readonly WorkerFlag[],
  own: FlagOptions = {},
  setsWorkerKeys = true,
): ParsedFlags {
  const options: FlagOptions = {
    help: { type: 'boolean', short: 'h' },
    ...(setsWorkerKeys && { set: { type: 'string', multiple: true } }),
    ...own,
  };
  for (const flag of workerFlags) options[flag] = { type: 'string' };
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new ConnectError('CLI_USAGE', (error as Error).message.split('. ')[0]!, { cause: error });
  }
  const values = parsed.values as Record<string, string | boolean | undefined>;
  const config: Record<string, string> = {};
  const assignments = setsWorkerKeys ? ((parsed.values.set ?? []) as string[]) : [];
  for (const assignment of assignments) {
    const [, key, value] = /^([^=]+)=([\s\S]*)$/.exec(assignment) ?? [];
    if (key === undefined) throw new ConnectError('CLI_USAGE', `--set ${assignment}: expected key=value`);
    config[key] = value!;
  }
  for (const flag of workerFlags) {
    const value = values[flag];
    if (typeof value === 'string') config[flagKeys[flag]] = value;
  }
  // A flag stands above the file's `listeners`.
  if (config.listen !== undefined) config.listeners ??= '';
  return { values, positionals: parsed.positionals, config };
}

export function workerFlagsHelp(workerFlags: readonly WorkerFlag[]): string {
  const lines = workerFlags.map(flag => {
    const key = workerKeys[flagKeys[flag]];
    const preset = key.default === '' ? '' : ` [${key.default}]`;
    return option(`--${flag} <value>`, `${key.documentation}${preset}`);
  });
  return [...lines, option('--set <key=value>', 'Sets any worker key; may be repeated.')].join('\n');
}

/** `without`: keys that the command has no use for. */
export function workerKeysHelp(without: readonly (keyof typeof workerKeys)[] = []): string {
  return Object.entries(workerKeys)
    .filter(([name]) => !(without as readonly string[]).includes(name))
    .map(([name, key]) => {
      const preset = key.default === null || key.default === '' ? '' : ` [${key.default}]`;
      return option(name, `${key.documentation}${preset}`);
    })
    .join('\n');
}

const nameWidth = 30;
const lineWidth = 110;

/** One entry of a help text: the name, then the text beside it in lines of fair length. */
export function option(name: string, text: string): string {
  const indent = ' '.repeat(nameWidth);
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + word.length + 1 > lineWidth - nameWidth) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  lines.push(line);
  const head = `  ${name}`;
  const body = lines.join(`\n${indent}`);
  return head.length < nameWidth ? `${head.padEnd(nameWidth)}${body}` : `${head}\n${indent}${body}`;
}
