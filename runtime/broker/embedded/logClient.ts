/**
 * A thread's connection to the log thread, shared by all brokers and registries that the thread opens on a data directory: requests and their answers, commit
 * notices, and the store for reading. The main thread's connection starts and ends the log thread.
 */
import { randomUUID } from 'node:crypto';
import { resolve as resolvePath } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { BroadcastChannel, isMainThread, threadId, type Worker } from 'node:worker_threads';
import type { ErrorCode } from '../../../schemas/errorCodes.ts';
import { asConnectError, ConnectError } from '../../../schemas/errors.ts';
import type { Logger } from '../../api/logger.ts';
import { onThreadEnd, startThread } from '../startThread.ts';
import type { LogThreadData, LogThreadMessage } from './logThread.ts';
import { makeFolders } from './makeFolders.ts';
import {
  type ClientMessage,
  channelNames,
  clientIdPrefix,
  type NoticeMessage,
  type OperationName,
  pingIntervalMs,
  type RequestMessage,
  type RequestOf,
  type ResultOf,
} from './protocol.ts';
import { SharedBytes } from './sharedBytes.ts';
import { type FlushMode, openStore, type Store } from './store.ts';
import { storeError } from './storeError.ts';
import { Wakeups } from './wakeups.ts';

export interface EmbeddedOptions {
  /** Default `os`. */
  readonly flush?: FlushMode;
  /** Default 30 s. */
  readonly maintenanceIntervalMs?: number;
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: ConnectError) => void;
}

/** A thread may ask before the main thread has opened the data directory. */
const helloDeadlineMs = 10_000;

const connections = new Map<string, { client: Promise<LogClient>; users: number }>();

/** Shared by the thread; each call needs a `release`. */
export async function connectLog(dataDir: string, logger: Logger, options: EmbeddedOptions): Promise<LogClient> {
  const key = resolvePath(dataDir);
  let connection = connections.get(key);
  if (connection === undefined) {
    connection = { client: LogClient.open(key, logger, options), users: 0 };
    connections.set(key, connection);
  }
  connection.users++;
  try {
    return await connection.client;
  } catch (error) {
    connections.delete(key);
    throw error;
  }
}

export class LogClient {
  readonly dataDir: string;
  readonly store: Store;
  readonly wakeups = new Wakeups();
  readonly sharedBytes = new SharedBytes();
  #clientId = clientIdPrefix(threadId) + randomUUID();
  #logThread: Worker | null;
  #requests: BroadcastChannel;
  #notices: BroadcastChannel;
  #replies: BroadcastChannel;
  #pings: NodeJS.Timeout;
  #stopWatchingThreads: () => void;
  #pending = new Map<number, Pending>();
  #nextId = 0;
  #members = new Map<string, () => void>();
  #ended: ConnectError | null = null;

  static async open(dataDir: string, logger: Logger, options: EmbeddedOptions): Promise<LogClient> {
    if (isMainThread) {
      try {
        makeFolders(dataDir);
      } catch (error) {
        throw storeError(error, dataDir);
      }
      const logThread = await startLogThread(dataDir, logger, options);
      return new LogClient(dataDir, logThread);
    }
    const client = new LogClient(dataDir, null);
    await client.#hello();
    return client;
  }

  private constructor(dataDir: string, logThread: Worker | null) {
    this.dataDir = dataDir;
    this.#logThread = logThread;
    const names = channelNames(dataDir);
    this.#requests = new BroadcastChannel(names.requests);
    this.#notices = new BroadcastChannel(names.notices);
    this.#replies = new BroadcastChannel(names.client(this.#clientId));
    this.#replies.onmessage = (event: unknown) => this.#onMessage((event as { data: ClientMessage }).data);
    this.#notices.onmessage = (event: unknown) => {
      const notice = (event as { data: NoticeMessage }).data;
      if (notice.kind === 'ended') this.#end(notice.reason);
      else this.wakeups.wake(notice.topics);
    };
    this.#pings = setInterval(() => this.#post(-1, 'ping', null), pingIntervalMs).unref();
    this.#stopWatchingThreads =
      logThread === null ? () => {} : onThreadEnd(ended => this.#post(-1, 'threadEnded', ended));
    logThread?.once('exit', () => {
      if (this.#logThread === null) return;
      const reason = 'its thread ended unexpectedly';
      this.#notices.postMessage({ kind: 'ended', reason } satisfies NoticeMessage);
      this.#end(reason);
    });
    this.store = openStore(dataDir, true);
  }

  call<N extends OperationName>(name: N, request: RequestOf<N>): Promise<ResultOf<N>> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve: resolve as (result: unknown) => void, reject });
      this.#post(id, name, request);
    });
  }

  /** Calls `rebalance` whenever the member has to join again. */
  addMember(memberId: string, rebalance: () => void): void {
    this.#members.set(memberId, rebalance);
  }

  removeMember(memberId: string): void {
    this.#members.delete(memberId);
  }

  async release(): Promise<void> {
    const connection = connections.get(this.dataDir);
    if (connection === undefined || --connection.users > 0) return;
    connections.delete(this.dataDir);
    this.#stopWatchingThreads();
    this.#post(-1, 'bye', null);
    const logThread = this.#logThread;
    this.#logThread = null;
    if (logThread !== null) {
      // It may have ended by itself; `exit` came or will come in any case.
      const exited = new Promise(resolve => logThread.once('exit', resolve));
      if (this.#ended === null) {
        logThread.postMessage('close');
        await exited;
      }
    }
    this.#end('the broker was closed');
    this.#requests.close();
    this.#notices.close();
    this.#replies.close();
    await this.store.close();
  }

  async #hello(): Promise<void> {
    const ready = this.call('hello', {});
    const deadline = Date.now() + helloDeadlineMs;
    for (let answered = false; !answered; ) {
      answered = await Promise.race([ready.then(() => true), wait(50, false)]);
      if (!answered && Date.now() > deadline) {
        const reason = 'no log thread answers; the main thread has to open the broker first';
        this.#end(reason);
        break;
      }
      if (!answered) this.#post(0, 'hello', {});
    }
    await ready;
  }

  #post(id: number, name: RequestMessage['name'], request: unknown): void {
    this.#requests.postMessage({ clientId: this.#clientId, id, name, request } satisfies RequestMessage);
  }

  #onMessage(message: ClientMessage): void {
    if (message.kind === 'rebalance') {
      this.#members.get(message.memberId)?.();
      return;
    }
    const pending = this.#pending.get(message.id);
    if (pending === undefined) return;
    this.#pending.delete(message.id);
    if (message.kind === 'reply') pending.resolve(message.result);
    else {
      const { code, message: text, retriable, place } = message.error;
      pending.reject(new ConnectError(code as ErrorCode, text, { retriable, place }));
    }
  }

  #end(reason: string): void {
    if (this.#ended !== null) return;
    this.#ended = new ConnectError(
      'BROKER_STORE_FAILED',
      `The embedded broker on ${this.dataDir} is not available: ${reason}.`,
    );
    clearInterval(this.#pings);
    for (const { reject } of this.#pending.values()) reject(this.#ended);
    this.#pending.clear();
    this.wakeups.wake();
  }
}

async function startLogThread(dataDir: string, logger: Logger, options: EmbeddedOptions): Promise<Worker> {
  const workerData: LogThreadData = {
    dataDir,
    flush: options.flush ?? 'os',
    maintenanceIntervalMs: options.maintenanceIntervalMs ?? 30_000,
  };
  const logThread = startThread('./logThread', import.meta.url, { workerData, name: 'embedded-log' });
  await new Promise<void>((resolve, reject) => {
    logThread.on('message', (message: LogThreadMessage) => {
      if (message.kind === 'ready') resolve();
      else if (message.kind === 'warning') logger.warn(message.fields, message.message);
      else if (message.kind === 'refused') {
        const { code, message: text, retriable } = message.error;
        reject(new ConnectError(code as ErrorCode, text, { retriable }));
      }
    });
    logThread.on('error', error => {
      logger.error({ err: error, dataDir }, 'the log thread of the embedded broker failed');
      reject(asConnectError(error, 'BROKER_STORE_FAILED'));
    });
    logThread.once('exit', () => reject(new ConnectError('BROKER_STORE_FAILED', 'The log thread ended at its start.')));
  });
  return logThread;
}
