import type { Comparison } from './compareTables.ts';
import type { LagTimes } from './lagTimes.ts';

/** The shop in one database system, its copy, the live workload, and what the worker needs to copy one to the other. */
export interface DemoShop {
  readonly sourceUrl: string;
  readonly copyUrl: string;
  /** A topic to look at. */
  readonly topic: string;
  readonly source: Readonly<Record<string, string>>;
  readonly sink: Readonly<Record<string, string>>;
  readonly lag: LagTimes;
  /** Row changes that the workload committed. */
  readonly changes: number;
  /** Until the signal aborts. */
  runWorkload(signal: AbortSignal, transactionsPerSecond: number): Promise<void>;
  compare(): Promise<Comparison>;
  stop(): Promise<void>;
}
