/** Watches which tasks the workers say they run, and notes those that two of them run at a time. */
import { setTimeout as delay } from 'node:timers/promises';
import type { WorkerProcess } from '../services/workerProcess.ts';

const LOOK_MS = 500;
const ANSWER_MS = 1_000;

export class DoubleRuns {
  readonly found: string[] = [];
  readonly #done = new AbortController();
  readonly #watching: Promise<void>;

  private constructor(workers: readonly WorkerProcess[]) {
    this.#watching = this.#watch(workers);
  }

  static watch(workers: readonly WorkerProcess[]): DoubleRuns {
    return new DoubleRuns(workers);
  }

  async stop(): Promise<void> {
    this.#done.abort();
    await this.#watching;
  }

  async #watch(workers: readonly WorkerProcess[]): Promise<void> {
    const since = new Map<string, Date>();
    const note = (task: string): void => {
      this.found.push(`${task} from ${since.get(task)!.toISOString()} to ${new Date().toISOString()}`);
      since.delete(task);
    };
    while (!this.#done.signal.aborted) {
      const twice = new Set(await runTwice(workers));
      for (const task of [...since.keys()]) if (!twice.has(task)) note(task);
      for (const task of twice) if (!since.has(task)) since.set(task, new Date());
      await delay(LOOK_MS);
    }
    for (const task of [...since.keys()]) note(task);
  }
}

/** Asked in both orders, so that what has moved between the questions does not count. */
async function runTwice(workers: readonly WorkerProcess[]): Promise<string[]> {
  const look = async (order: readonly WorkerProcess[]): Promise<ReadonlySet<string>> => {
    const seen = new Set<string>();
    const twice = new Set<string>();
    for (const worker of order) {
      for (const task of await tasksOf(worker)) (seen.has(task) ? twice : seen).add(task);
    }
    return twice;
  };
  const first = await look(workers);
  if (first.size === 0) return [];
  const second = await look([...workers].reverse());
  return [...first].filter(task => second.has(task));
}

/** Tasks that a worker says it runs; none where it does not answer. */
async function tasksOf(worker: WorkerProcess): Promise<ReadonlySet<string>> {
  const answer = await fetch(`${worker.url}/metrics`, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => null);
  const text = (await answer?.text().catch(() => '')) ?? '';
  const running = text.matchAll(/^kafka_connect_connector_task_status\{connector="([^"]*)",task="(\d+)"/gm);
  return new Set([...running].map(([, connector, task]) => `${connector}-${task}`));
}
