import { waitUntil } from '../../services/waitUntil.ts';
import type { Servers } from '../servers.ts';

const TIMEOUT_MS = 60_000;

async function isActive(servers: Servers, database: string, slot: string): Promise<boolean | null> {
  const client = await servers.connect(database);
  try {
    const { rows } = await client.query<{ active: boolean }>(
      'SELECT active FROM pg_replication_slots WHERE slot_name = $1',
      [slot],
    );
    return rows[0]?.active ?? null;
  } finally {
    await client.end();
  }
}

/** Waits until the slot is there and is read from, or is not; the time of that, by `performance.now()`. */
export async function slotActive(servers: Servers, database: string, slot: string, active: boolean): Promise<number> {
  await waitUntil(
    `slot ${slot} is ${active ? 'active' : 'at rest'}`,
    TIMEOUT_MS,
    async () => {
      return (await isActive(servers, database, slot)) === active;
    },
    10,
  );
  return performance.now();
}

export async function dropSlot(servers: Servers, database: string, slot: string): Promise<void> {
  await waitUntil(`slot ${slot} is at rest`, TIMEOUT_MS, async () => {
    return (await isActive(servers, database, slot)) !== true;
  });
  const client = await servers.connect(database);
  await client.query('SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1', [
    slot,
  ]);
  await client.end();
}
