/**
 * Entry of the log thread, the only writer of a data directory. The main thread starts it when the broker is first opened and ends it with the last
 * `close`. Anything unforeseen in it ends the thread, and is told to all clients.
 */
import { BroadcastChannel, parentPort, workerData } from 'node:worker_threads';
import { asConnectError } from '../../../schemas/errors.ts';
import { LogServer } from './logServer.ts';
import { Maintenance } from './maintenance.ts';
import { releaseOwnership, renewIntervalMs, takeOwnership } from './ownership.ts';
import { type ClientMessage, channelNames, type NoticeMessage, type RequestMessage } from './protocol.ts';
import { type FlushMode, openStore } from './store.ts';
import { storeError } from './storeError.ts';

export interface LogThreadData {
  readonly dataDir: string;
  readonly flush: FlushMode;
  /** Pause between two rounds of retention and compaction. */
  readonly maintenanceIntervalMs: number;
}

/** To the main thread. */
export type LogThreadMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'refused'; readonly error: { code: string; message: string; retriable: boolean } }
  | { readonly kind: 'warning'; readonly message: string; readonly fields: object }
  | { readonly kind: 'closed' };

const tickMs = 1000;

async function run(data: LogThreadData): Promise<void> {
  const { dataDir, flush } = data;
  const tell = (message: LogThreadMessage) => parentPort!.postMessage(message);
  const store = openStore(dataDir, false);
  try {
    await takeOwnership(store, dataDir);
  } catch (error) {
    await store.close();
    throw error;
  }
  const names = channelNames(dataDir);
  const requests = new BroadcastChannel(names.requests);
  const notices = new BroadcastChannel(names.notices);
  const clients = new Map<string, BroadcastChannel>();
  const channelOf = (clientId: string): BroadcastChannel => {
    let channel = clients.get(clientId);
    if (channel === undefined) {
      channel = new BroadcastChannel(names.client(clientId));
      clients.set(clientId, channel);
    }
    return channel;
  };
  const forget = (clientId: string) => {
    clients.get(clientId)?.close();
    clients.delete(clientId);
  };
  const server = new LogServer(store, {
    dataDir,
    flush,
    reply: (clientId: string, message: ClientMessage) => channelOf(clientId).postMessage(message),
    committed: topics => notices.postMessage({ kind: 'commit', topics } satisfies NoticeMessage),
    forget,
  });
  const warn = (message: string, error: unknown) => {
    const { code, message: detail } = asConnectError(error, 'BROKER_STORE_FAILED');
    tell({ kind: 'warning', message, fields: { code, error: detail, dataDir } });
  };
  const maintenance = new Maintenance(server, data.maintenanceIntervalMs, warn);

  requests.onmessage = (event: unknown) => {
    const message = (event as { data: RequestMessage }).data;
    server.handle(message);
  };
  let nextTick = Date.now() + tickMs;
  const ticks = setInterval(() => {
    const now = Date.now();
    try {
      server.tick(now, now - nextTick);
    } catch (error) {
      warn('expired transactions could not be aborted; tried again', error);
    }
    nextTick = now + tickMs;
  }, tickMs);
  const renewals = setInterval(() => {
    try {
      server.renewOwnership();
    } catch (error) {
      warn('the entry of the owner could not be renewed; tried again', error);
    }
  }, renewIntervalMs);
  maintenance.start();

  parentPort!.once('message', async () => {
    clearInterval(ticks);
    clearInterval(renewals);
    requests.close();
    await maintenance.stop();
    server.close();
    try {
      server.write(() => releaseOwnership(store));
    } catch (error) {
      warn('the owner of the data directory is still entered; the next start finds it gone by its process id', error);
    }
    notices.postMessage({ kind: 'ended', reason: 'the main thread closed it' } satisfies NoticeMessage);
    notices.close();
    for (const channel of clients.values()) channel.close();
    await store.close();
    tell({ kind: 'closed' });
    parentPort!.close();
  });
  tell({ kind: 'ready' });
}

run(workerData as LogThreadData).catch(error => {
  const { code, message, retriable } = storeError(error, (workerData as LogThreadData).dataDir);
  parentPort!.postMessage({ kind: 'refused', error: { code, message, retriable } } satisfies LogThreadMessage);
});
