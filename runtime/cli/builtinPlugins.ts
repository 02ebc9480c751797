/** The plugin modules that come with Millrace, as URLs: task threads import the same. `.ts` from the sources, `.js` from `dist`. */
const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

/** Without extension, from here. */
export const builtinPluginPaths: readonly string[] = [
  '../converters/index',
  '../transforms/index',
  '../config/providers/index',
  '../../connectors/file/index',
  '../../connectors/datagen/index',
  '../../connectors/postgres/index',
  '../../connectors/mysql/index',
  '../../connectors/firebird/index',
];

export const builtinPlugins: readonly string[] = builtinPluginPaths.map(
  path => new URL(path + extension, import.meta.url).href,
);
