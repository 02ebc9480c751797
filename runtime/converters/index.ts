/** Converters and header converters under their Java class names. */
import type { Plugin } from '../api/index.ts';
import { avroConverterPlugin } from './avro.ts';

export const plugins: readonly Plugin[] = [avroConverterPlugin];
