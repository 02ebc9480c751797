/** Whether the connection to the server was lost or could not be made, as the driver tells it. */

const CODES =
  /^(ECONN|EHOST|ENET|ENOTFOUND|EAI_|ETIMEDOUT|EPIPE|PROTOCOL_CONNECTION_LOST|PROTOCOL_SEQUENCE_TIMEOUT|ERR_STREAM_)/;
const MESSAGES = /closed state|connection lost|connection is closed|packets out of order/i;

const isSystemError = (error: Error): boolean => Number((error as NodeJS.ErrnoException).errno ?? 0) < 0;

/** Making the connection again may help. */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError && error.errors.some(isConnectionLoss)) return true;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code === 'HANDSHAKE_SSL_ERROR') return isCutInHandshake(error);
  return CODES.test(code) || MESSAGES.test(error.message);
}

/** The driver puts its own code over the network's where the connection ends before TLS stands; what TLS itself refuses is no system error. */
const isCutInHandshake = (error: Error): boolean =>
  isSystemError(error) || error.message.startsWith('Client network socket disconnected');

/** TLS that the server does not have, or a certificate that does not hold. */
export const isTlsRefusal = (error: unknown): boolean =>
  error instanceof Error && /^HANDSHAKE_/.test((error as NodeJS.ErrnoException).code ?? '') && !isConnectionLoss(error);
