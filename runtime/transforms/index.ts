/** Connect's built-in transforms and predicates, and Debezium's unwrap, under Java's class names. */
import type { Plugin } from '../api/index.ts';
import { castPlugins } from './cast.ts';
import { extractFieldPlugins } from './extractField.ts';
import { extractNewRecordStatePlugin } from './extractNewRecordState.ts';
import { filterPlugin } from './filter.ts';
import { flattenPlugins } from './flatten.ts';
import { headerPlugins } from './headers.ts';
import { hoistFieldPlugins } from './hoistField.ts';
import { insertFieldPlugins } from './insertField.ts';
import { maskFieldPlugins } from './maskField.ts';
import { predicatePlugins } from './predicates.ts';
import { replaceFieldPlugins } from './replaceField.ts';
import { routerPlugins } from './routers.ts';
import { setSchemaMetadataPlugins } from './setSchemaMetadata.ts';
import { timestampConverterPlugins } from './timestampConverter.ts';
import { valueToKeyPlugin } from './valueToKey.ts';

export const plugins: readonly Plugin[] = [
  ...castPlugins,
  ...extractFieldPlugins,
  extractNewRecordStatePlugin,
  filterPlugin,
  ...flattenPlugins,
  ...headerPlugins,
  ...hoistFieldPlugins,
  ...insertFieldPlugins,
  ...maskFieldPlugins,
  ...predicatePlugins,
  ...replaceFieldPlugins,
  ...routerPlugins,
  ...setSchemaMetadataPlugins,
  ...timestampConverterPlugins,
  valueToKeyPlugin,
];
