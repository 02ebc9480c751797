/** `millrace firebird journal`: shows what archived segments of a Firebird journal hold. */
import { once } from 'node:events';
import { ConnectError } from '../../api/index.ts';
import { option, parseFlags } from '../flags.ts';

const usage = `usage: millrace firebird journal [--metadata FILE] SEGMENT…

Writes the events of Firebird journal segments as JSON, one document per segment, in the given order. Needs no server.

${option('--metadata <file>', 'Layouts of the tables, as a source keeps them in schema.history.file. Without it records are shown as bytes.')}`;

export async function firebird(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseFlags(args, [], { metadata: { type: 'string' } });
  if (values.help === true) {
    process.stdout.write(`${usage}\n`);
    return 0;
  }
  const [command, ...segments] = positionals;
  if (command !== 'journal')
    throw new ConnectError('CLI_USAGE', 'millrace firebird has one command, journal; see --help');
  if (segments.length === 0)
    throw new ConnectError('CLI_USAGE', 'a segment file is missing; see millrace firebird --help');
  const { printJournal } = await import('../../../connectors/firebird/journalCommand.ts');
  const metadata = typeof values.metadata === 'string' ? values.metadata : null;
  await printJournal(segments, metadata, async text => {
    if (!process.stdout.write(text)) await once(process.stdout, 'drain');
  });
  return 0;
}
