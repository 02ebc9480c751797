/** What a broker says to whoever asks after its close. It never passes, so that nothing goes on retrying. */
import { ConnectError } from '../../schemas/errors.ts';

export function closedError(): ConnectError {
  return new ConnectError('BROKER_CLOSED', 'The connection to the broker was closed by this process.');
}
