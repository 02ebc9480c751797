import { configDef } from '../../runtime/api/index.ts';
import { parseFields } from './fields.ts';
import { quickstarts } from './quickstarts.ts';

export const datagenConfig = configDef({
  topic: {
    type: 'STRING',
    importance: 'HIGH',
    documentation: 'Topic for the rows.',
    aliases: ['kafka.topic'],
  },
  quickstart: {
    type: 'STRING',
    default: 'orders',
    oneOf: Object.keys(quickstarts),
    ignoreCase: true,
    importance: 'HIGH',
    documentation: 'A ready-made kind of row. Not used where fields is set.',
  },
  fields: {
    type: 'STRING',
    default: null,
    importance: 'HIGH',
    documentation:
      'Fields of a row: name:type, separated by commas; types int, long, double, boolean, string, timestamp. The first field is the key and must be a long.',
    check: (value: string) => {
      try {
        parseFields(value);
        return null;
      } catch (error) {
        return (error as Error).message;
      }
    },
  },
  'rows.per.second': {
    type: 'INT',
    default: 0,
    min: 0,
    importance: 'MEDIUM',
    documentation: 'Rows per second of all tasks together; 0: as fast as they can.',
  },
  iterations: {
    type: 'LONG',
    default: -1,
    min: -1,
    importance: 'MEDIUM',
    documentation: 'Rows of all tasks together; -1: without end.',
  },
  keys: {
    type: 'LONG',
    default: 0,
    min: 0,
    importance: 'MEDIUM',
    documentation: 'How many different keys there are, per task, before they come again; 0: every row has a new one.',
  },
  'batch.rows': {
    type: 'INT',
    default: 2000,
    min: 1,
    importance: 'LOW',
    documentation: 'Most rows of a batch.',
  },
});

/** Which of how many tasks this is: set by the connector. */
export const taskIndexKey = 'task.index';
export const taskCountKey = 'task.count';
