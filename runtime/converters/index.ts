/** Converters and header converters under their Java class names. */
import type { Plugin } from '../api/index.ts';
import { avroConverterPlugin } from './avro.ts';
import { jsonConverterPlugin, jsonHeaderConverterPlugin } from './json.ts';
import { textPlugins } from './text.ts';

export const plugins: readonly Plugin[] = [
  avroConverterPlugin,
  jsonConverterPlugin,
  jsonHeaderConverterPlugin,
  ...textPlugins,
];
