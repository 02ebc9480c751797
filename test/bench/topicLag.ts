/**
 * How long changes take from their commit until they are acknowledged in the topic. Transactions come out in the order of their commits, so that
 * the place of a record in the topic tells its transaction; a transaction counts from before it began.
 */
import { percentile } from './report.ts';
import { type Queryable, ROWS_PER_STEP, steadyLoad } from './tables.ts';
import type { TopicReader } from './topicReader.ts';

const LOAD_MS = 6000;
/** Steps left out at the beginning. */
const WARM_STEPS = 100;

/** Returns the 99th percentile and the number of changes made. The topic must have come to rest. */
export async function topicLag(
  client: Queryable,
  reader: TopicReader,
  topic: string,
  check: () => Promise<void>,
): Promise<{ p99LagMs: number | null; changes: number }> {
  const base = await reader.endOffset(topic);
  const watch = reader.watch(topic, base);
  const began = await steadyLoad(client, LOAD_MS);
  const target = base + began.length * ROWS_PER_STEP;
  await reader.drain(topic, base, target, check);
  const arrivedAt = await watch.arrivals(target);
  const lags = began.map((beganAt, step) => arrivedAt[(step + 1) * ROWS_PER_STEP - 1]! - beganAt).slice(WARM_STEPS);
  const p99 = percentile(lags, 0.99);
  return { p99LagMs: p99 === null ? null : Math.round(p99 * 10) / 10, changes: began.length * ROWS_PER_STEP };
}
