/** What a failed write of the store means to its user: a full disk has a code of its own, since it ends by itself when there is room again. */
import { statfsSync } from 'node:fs';
import { ConnectError } from '../../../schemas/errors.ts';

/** errno ENOSPC, EDQUOT, EFBIG and LMDB's MDB_MAP_FULL. */
const fullCodes: readonly unknown[] = [28, 122, 27, -30792, 'ENOSPC', 'EDQUOT', 'EFBIG'];
/** LMDB reports a write that a full disk cut short as EIO. */
const eio = 5;
const littleRoomBytes = 32 * 1024 * 1024;

export function storeError(error: unknown, dataDir: string): ConnectError {
  if (error instanceof ConnectError) return error;
  const code = (error as { code?: unknown } | null)?.code;
  const freeBytes = freeSpace(dataDir);
  const isFull = fullCodes.includes(code) || (code === eio && freeBytes !== null && freeBytes < littleRoomBytes);
  const message = error instanceof Error ? error.message : String(error);
  if (isFull)
    return new ConnectError(
      'BROKER_DISK_FULL',
      `The embedded broker could not write to ${dataDir}: the disk is full (${freeBytes ?? '?'} bytes free). Make room on it, or lower retention.ms or retention.bytes of large topics; nothing acknowledged is lost, writing goes on when there is room.`,
      { cause: error, retriable: true },
    );
  return new ConnectError(
    'BROKER_STORE_FAILED',
    `The embedded broker could not open or write its store in ${dataDir}: ${message}. Check the disk and the permissions.`,
    { cause: error },
  );
}

function freeSpace(dir: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(dir);
    return bavail * bsize;
  } catch {
    // The directory itself cannot be asked: the error at hand says more.
    return null;
  }
}
