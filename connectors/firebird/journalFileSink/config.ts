import { configDef } from '../../../runtime/api/index.ts';

export const journalFileSinkConfig = configDef({
  'output.dir': {
    type: 'STRING',
    importance: 'HIGH',
    documentation:
      'Directory for the files, one for each journal segment: <GUID>.journal-<sequence>.json. It must exist.',
    check: (value: string) => (value === '' ? 'String must be non-empty' : null),
  },
});
