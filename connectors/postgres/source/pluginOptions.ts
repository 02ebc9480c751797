/** What pgoutput is asked for: the most that the version of the server knows. */
import type { SourceSettings } from '../config.ts';
import { quoteName, quoteText } from './connection.ts';

/** Binary values, logical messages and open transactions are known from here on. */
export const MODERN_SINCE = 140000;
export const ORIGIN_SINCE = 160000;
const PARALLEL_SINCE = 160000;

export function pluginOptions(
  settings: SourceSettings,
  serverVersion: number,
  isBinary: boolean,
  isStreaming: boolean,
): string[] {
  const isModern = serverVersion >= MODERN_SINCE;
  return [
    ...protocol(serverVersion, isStreaming),
    `publication_names ${quoteText(quoteName(settings.publication.name)).trim()}`,
    ...(isModern ? ["messages 'true'"] : []),
    ...(isBinary ? ["binary 'true'"] : []),
    ...(settings.publication.origin === 'none' ? ["origin 'none'"] : []),
  ];
}

/** Version 3 has nothing but prepared transactions before their commit, which are not wanted: they come as others do, when they are committed. */
function protocol(serverVersion: number, isStreaming: boolean): string[] {
  if (serverVersion < MODERN_SINCE || !isStreaming) return ["proto_version '1'"];
  return serverVersion < PARALLEL_SINCE
    ? ["proto_version '2'", "streaming 'on'"]
    : ["proto_version '4'", "streaming 'parallel'"];
}
