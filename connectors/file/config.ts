import { configDef } from '../../runtime/api/index.ts';

export const fileSourceConfig = configDef({
  file: {
    type: 'STRING',
    default: null,
    importance: 'HIGH',
    documentation: 'File to read, line by line, and to follow as it grows. Without it: standard input.',
  },
  topic: {
    type: 'STRING',
    importance: 'HIGH',
    documentation: 'Topic for the lines.',
    check: (value: string) => (value === '' ? 'String must be non-empty' : null),
  },
  'batch.size': {
    type: 'INT',
    default: 2000,
    importance: 'LOW',
    documentation: 'Most lines read at a time.',
  },
});

export const fileSinkConfig = configDef({
  file: {
    type: 'STRING',
    default: null,
    importance: 'HIGH',
    documentation: 'File that lines are appended to. Without it: standard output.',
  },
});
