/** What ends a stream of the log, by what a user can do about it. */
import { ConnectError } from '../../../runtime/api/index.ts';
import { serverError } from '../protocol/packetReader.ts';

const EOF = 0xfe;

/** The first byte of the payload tells an error (0xff) or the end (0xfe). */
export function streamError(bytes: Buffer, start: number, end: number): ConnectError {
  if (bytes[start] === EOF) {
    return new ConnectError('MYSQL_UNREACHABLE', 'the server ended the stream of its log', { retriable: true });
  }
  const error = serverError(bytes, start, end);
  const { errno } = error;
  const message = error.message.replace(/\.$/, '');
  // MySQL ends the older of two by the reader's uuid, MariaDB by the id.
  if (
    (errno === 1236 || errno === 4052) &&
    /same server_(uuid|id)|server_id as this|another (slave|replica)/i.test(message)
  ) {
    return new ConnectError('MYSQL_SERVER_ID_TAKEN', `${message}. Give each connector its own database.server.id.`, {
      cause: error,
      retriable: true,
    });
  }
  if (
    errno === 1236 &&
    /purged|could not find|not find first|no longer|does not exist|doesn't exist|not in the master|missing|impossible position|> file size/i.test(
      message,
    )
  ) {
    return new ConnectError(
      'MYSQL_LOG_PURGED',
      `The server does not have the log behind the stored position any more: ${message}. Reset the offsets of the connector to read all rows again, or use snapshot.mode=when_needed.`,
      { cause: error },
    );
  }
  // A server that shuts down, or ended the session of a reader that was taken for dead.
  const isGone = [1053, 1077, 1079, 1927, 3169].includes(errno);
  return new ConnectError(
    isGone ? 'MYSQL_UNREACHABLE' : 'MYSQL_STREAM_FAILED',
    `MySQL ended the stream of its log: ${message} (${errno}).`,
    { cause: error, retriable: isGone },
  );
}

/** What the log may have and is not read: better to stop than to lose it. */
export const unsupportedEvent = (what: string, change: string): ConnectError =>
  new ConnectError('MYSQL_EVENT_UNSUPPORTED', `The log has ${what}, which cannot be read: ${change}.`);
