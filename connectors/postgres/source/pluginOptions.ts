/** What pgoutput is asked for: the most that the version of the server knows. */
import type { SourceSettings } from '../config.ts';
import { quoteName, quoteText } from './connection.ts';

/** Binary values, logical messages and open transactions are known from here on. */
export const MODERN_SINCE = 140000;
export const TWO_PHASE_SINCE = 150000;
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
    ...protocol(serverVersion, isStreaming, settings.slot.isTwoPhase),
    `publication_names ${quoteText(quoteName(settings.publication.name)).trim()}`,
    ...(isModern ? ["messages 'true'"] : []),
    ...(isBinary ? ["binary 'true'"] : []),
    ...(settings.publication.origin === 'none' ? ["origin 'none'"] : []),
  ];
}

/** Version 3 has nothing but prepared transactions before their commit, which are wanted of a slot that is made for them only. */
function protocol(serverVersion: number, isStreaming: boolean, isTwoPhase: boolean): string[] {
  const twoPhase = isTwoPhase ? ["two_phase 'on'"] : [];
  if (serverVersion < MODERN_SINCE || !isStreaming) return [`proto_version '${isTwoPhase ? 3 : 1}'`, ...twoPhase];
  return serverVersion < PARALLEL_SINCE
    ? [`proto_version '${isTwoPhase ? 3 : 2}'`, "streaming 'on'", ...twoPhase]
    : ["proto_version '4'", "streaming 'parallel'", ...twoPhase];
}
