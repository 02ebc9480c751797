/** `millrace new connector`: a folder to start a connector of one's own from. */
import { access, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConnectError } from '../../api/index.ts';
import { version } from '../../config/version.ts';
import { connectorTemplate } from '../connectorTemplate.ts';
import { option, parseFlags } from '../flags.ts';

const help = `usage: millrace new connector <name> [--kind source|sink] [--dir folder]

Writes a small connector that works, with a test, as an npm package; docs/write-your-own-connector.md goes on from there.

options:
${option('--kind <kind>', 'source or sink [source].')}
${option('--dir <folder>', 'Where to write it [./<name>]. It must not exist.')}`;

/** As npm has it, without a scope. */
const packageName = /^[a-z0-9][a-z0-9._-]{0,100}$/;

export async function newPlugin(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseFlags(args, [], { kind: { type: 'string' }, dir: { type: 'string' } }, false);
  if (values.help === true) {
    process.stdout.write(`${help}\n`);
    return 0;
  }
  const [what, name, ...others] = positionals;
  if (what !== 'connector' || name === undefined || others.length > 0) {
    throw new ConnectError('CLI_USAGE', 'expected millrace new connector <name>; see millrace new --help');
  }
  if (!packageName.test(name)) {
    throw new ConnectError('CLI_USAGE', `${name} cannot be the name of a package: small letters, digits, -, _ and .`);
  }
  const { kind = 'source' } = values;
  if (kind !== 'source' && kind !== 'sink') {
    throw new ConnectError('CLI_USAGE', `--kind ${String(kind)}: expected source or sink`);
  }
  const folder = resolve(typeof values.dir === 'string' ? values.dir : name);
  if (await exists(folder)) throw new ConnectError('CLI_USAGE', `${folder} is there already; choose another by --dir`);
  await mkdir(join(folder, 'node_modules'), { recursive: true });
  for (const [file, text] of Object.entries(connectorTemplate({ name, kind, version }))) {
    await writeFile(join(folder, file), text);
  }
  // So that tests and editors find this installation, as after npm link.
  await symlink(packageRoot(), join(folder, 'node_modules', 'millrace'), 'junction');
  process.stdout.write(
    `${folder} has a ${kind} connector. Try it:\n\n  cd ${folder} && node --test\n  millrace plugins --set plugin.path=${folder}\n`,
  );
  return 0;
}

/** Beside the sources, and above `dist`. */
function packageRoot(): string {
  const isSource = import.meta.url.endsWith('.ts');
  return fileURLToPath(new URL(isSource ? '../../../' : '../../../../', import.meta.url));
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
