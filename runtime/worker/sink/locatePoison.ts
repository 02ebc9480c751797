import { ConnectError, type SinkBatch } from '../../api/index.ts';

/** A conversion error from inside a sink that reads columns does not say which record it was: finds the first that cannot be decoded. */
export function locatePoison(error: unknown, batches: readonly SinkBatch[]): unknown {
  if (!(error instanceof ConnectError) || error.code !== 'CONVERTER_FAILED' || error.place.offset !== undefined) {
    return error;
  }
  for (const batch of batches) {
    for (let i = 0; i < batch.count; i++) {
      try {
        batch.record(i);
      } catch (poison) {
        return poison;
      }
    }
  }
  return error;
}
