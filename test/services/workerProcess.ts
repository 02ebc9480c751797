/** `millrace standalone`, or `millrace worker`, as a process of its own, spoken to over REST as any user would. Needs `npm run build` before. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from './localPostgres.ts';
import { waitUntil } from './waitUntil.ts';

export const CLI = join(import.meta.dirname, '../../dist/runtime/cli/main.js');
const STOP_TIMEOUT_MS = 30_000;
const START_TIMEOUT_MS = 60_000;
const KEPT_OUTPUT_CHARS = 50_000;

export type WorkerCommand = 'standalone' | 'worker';

export interface ConnectorStatus {
  readonly name: string;
  readonly connector: { readonly state: string; readonly worker_id: string; readonly trace?: string };
  readonly tasks: readonly {
    readonly id: number;
    readonly state: string;
    readonly worker_id: string;
    readonly trace?: string;
  }[];
}

export class WorkerProcess {
  readonly url: string;
  readonly #command: WorkerCommand;
  readonly #listen: string;
  readonly #args: string[];
  readonly #env: Readonly<Record<string, string>>;
  #process: ChildProcess | null = null;
  #output = '';
  #line = '';
  readonly #complaints: string[] = [];

  private constructor(
    command: WorkerCommand,
    listen: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
  ) {
    this.#command = command;
    this.#listen = listen;
    this.url = `http://${listen}`;
    this.#args = [...args];
    this.#env = env;
  }

  /** `args` follow the command, such as --data-dir or a properties file. Resolves once /health answers. */
  static async start(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    command: WorkerCommand = 'standalone',
  ): Promise<WorkerProcess> {
    const worker = new WorkerProcess(command, `127.0.0.1:${await freePort()}`, args, env);
    await worker.restart();
    return worker;
  }

  /** The end of what the process printed, for messages. */
  get output(): string {
    return this.#output;
  }

  /** What the process logged that no fault outside of it explains: unhandled rejections, threads that ended by an error, listeners that nobody removes. */
  get complaints(): readonly string[] {
    return this.#complaints;
  }

  get pid(): number {
    if (!this.#process?.pid) throw new Error('the worker is not running');
    return this.#process.pid;
  }

  /** null while it runs, and after a signal ended it. */
  get exitCode(): number | null {
    return this.#process?.exitCode ?? null;
  }

  get running(): boolean {
    return this.#process !== null && this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** Starts the process again, at the same address with the same arguments, and with those given from now on, after it ended. */
  async restart(more: readonly string[] = []): Promise<void> {
    this.#args.push(...more);
    // a process group of its own: Ctrl-C reaches the parent first, which stops the worker in order
    const child = spawn(process.execPath, [CLI, this.#command, '--listen', this.#listen, ...this.#args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      env: { ...process.env, ...this.#env },
    });
    this.#process = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#output = (this.#output + chunk.toString()).slice(-KEPT_OUTPUT_CHARS);
        this.#lookForComplaints(chunk.toString());
      });
    }
    await waitUntil('the worker answers /health', START_TIMEOUT_MS, async () => {
      if (!this.running) throw new Error(`the worker ended while starting:\n${this.#output}`);
      return (await fetch(`${this.url}/health`).catch(() => null))?.ok === true;
    }).catch(async error => {
      await this.kill();
      throw error;
    });
  }

  #lookForComplaints(text: string): void {
    const lines = (this.#line + text).split('\n');
    this.#line = lines.pop()!;
    const isComplaint = (line: string): boolean =>
      line.includes('unexpected error') ||
      line.includes('MaxListenersExceededWarning') ||
      (line.includes('a task thread ended') && line.includes('"err"'));
    this.#complaints.push(...lines.filter(isComplaint));
  }

  /** Any request; the parsed body. Throws for statuses above 399. */
  async request<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(this.url + path, {
      method,
      ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (answer.status > 399) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return (text === '' ? null : JSON.parse(text)) as T;
  }

  async createConnector(name: string, config: Readonly<Record<string, string>>): Promise<void> {
    await this.request('POST', '/connectors', { name, config });
  }

  /** Returns when no task of the connector runs any more. */
  async stopConnector(name: string): Promise<void> {
    await this.request('PUT', `/connectors/${encodeURIComponent(name)}/stop`);
    await waitUntil(`${name} has stopped`, STOP_TIMEOUT_MS, async () => {
      const { connector, tasks } = await this.status(name);
      return connector.state === 'STOPPED' && tasks.length === 0;
    });
  }

  status(name: string): Promise<ConnectorStatus> {
    return this.request('GET', `/connectors/${encodeURIComponent(name)}/status`);
  }

  /** The traces of failed connectors and tasks; throws where the process ended. */
  async failures(): Promise<string[]> {
    if (!this.running) throw new Error(`the worker ended:\n${this.#output}`);
    const all = await this.request<Record<string, { status?: ConnectorStatus }>>('GET', '/connectors?expand=status');
    return Object.values(all).flatMap(({ status }) =>
      [status?.connector, ...(status?.tasks ?? [])]
        .filter(part => part?.state === 'FAILED')
        .map(part => `${status?.name}: ${part?.trace}`),
    );
  }

  /** Sum of a metric over its labels; `labels` selects by exact text such as `connector="c"`. */
  async metric(name: string, labels = ''): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    return text
      .split('\n')
      .filter(line => line.startsWith(`${name}{`) && line.includes(labels))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }

  /** SIGTERM, and waits for the end. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  /** kill -9, and waits for the end. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    if (!child || !this.running) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }
}
