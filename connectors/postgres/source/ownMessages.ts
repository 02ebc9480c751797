/** Prefixes of the logical messages that the connector itself writes to the log. They are never published, whichever connector wrote them. */

const OWN = 'millrace.';
/** Ends the window of a chunk of an incremental snapshot; the content is the chunk's id. */
export const MARK_PREFIX = `${OWN}incremental-snapshot`;
/** Keeps a slot moving on a quiet database. */
export const HEARTBEAT_PREFIX = `${OWN}heartbeat`;

export const isOwnPrefix = (prefix: string): boolean => prefix.startsWith(OWN);
