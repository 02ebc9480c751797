/** Firebird: the replication journal as a source, its events as files, and a sink that writes tables. */
import type { Plugin } from '../../runtime/api/index.ts';
import { journalFileSinkConfig } from './journalFileSink/config.ts';
import { JournalFileSinkConnector, JournalFileSinkTask } from './journalFileSink/journalFileSink.ts';
import { sinkPlugin } from './sink/index.ts';
import { sourcePlugin } from './source/connector.ts';
import { CONNECTOR_VERSION } from './version.ts';

export const plugins: readonly Plugin[] = [
  sourcePlugin,
  sinkPlugin,
  {
    kind: 'sink',
    className: 'millrace.FirebirdJournalFileSink',
    aliases: [],
    version: CONNECTOR_VERSION,
    configDef: journalFileSinkConfig,
    createConnector: () => new JournalFileSinkConnector(),
    createTask: () => new JournalFileSinkTask(),
  },
];
