import { asConnectError, type ConnectError, type ErrorPlace } from '../../api/index.ts';
import type { Stage } from './errorPolicy.ts';

/** The error of a record, with its place; what has no code of its own gets that of the stage. */
export function located(error: unknown, stage: Stage, place: ErrorPlace): ConnectError {
  return asConnectError(error, stage === 'TRANSFORMATION' ? 'TRANSFORM_FAILED' : 'CONVERTER_FAILED').at(place);
}
