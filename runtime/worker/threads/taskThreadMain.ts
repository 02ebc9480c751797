/** Entry of a task thread: a TaskHost that takes its orders by message. */
import { parentPort } from 'node:worker_threads';
import { ConnectError } from '../../api/index.ts';
import { failureReport } from '../errors/failureReport.ts';
import { PluginRegistry } from '../pluginRegistry.ts';
import { TaskHost } from '../taskHost.ts';
import type { TaskGuard, TaskRequest } from '../types.ts';
import type { ErrorMessage, FromThread, ToThread } from './messages.ts';
import { threadLogger } from './threadLogger.ts';

/** Between snapshots of the metrics, and signs of life. */
const metricsMs = 1_000;

const port = parentPort;
if (port === null) throw new Error('this module is the entry of a task thread');
const post = (message: FromThread): void => port.postMessage(message);

type Init = Extract<ToThread, { type: 'init' }>;
let init: Init | null = null;
let opening: Promise<TaskHost> | null = null;

const questions = new Map<number, (error: ErrorMessage | null) => void>();
let lastQuestion = 0;

/** The herder, which knows, is in the main thread. */
const guard: TaskGuard = {
  ask: (what, id, generation) =>
    new Promise((resolve, reject) => {
      const question = ++lastQuestion;
      questions.set(question, error => {
        questions.delete(question);
        if (error === null) resolve();
        else reject(new ConnectError(error.code, error.message, { retriable: error.retriable }));
      });
      post({ type: 'ask', question, what, id, generation });
    }),
};

async function open({ config, pluginModules }: Init): Promise<TaskHost> {
  return TaskHost.open({
    config,
    plugins: await PluginRegistry.open(pluginModules),
    listener: {
      taskState: (id, state, failure) => post({ type: 'taskState', id, state, failure }),
      topicUsed: (id, topic) => post({ type: 'topicUsed', id, topic }),
    },
    guard,
    logger: threadLogger(post),
  });
}

/** Loads plugins, connects and opens the offsets before the first task comes. */
function openAhead(message: Init): void {
  const own = open(message);
  opening = own;
  own.then(
    opened => opened.openOffsets(),
    () => {
      if (opening === own) opening = null; // the first task tries again and tells
    },
  );
}

/** A host that could not be opened, since the broker was away for one, fails the task that asked for it; the next task tries again. */
async function start(request: TaskRequest): Promise<void> {
  const { id } = request;
  opening ??= open(init!);
  const own = opening;
  try {
    (await own).startTask(request);
  } catch (error) {
    if (opening === own) opening = null;
    post({
      type: 'taskState',
      id,
      state: 'FAILED',
      failure: failureReport(error, { connector: id.connector, task: id.task }),
    });
  }
}

/** An error here ends the thread; the main thread fails its tasks with it. */
async function handle(message: ToThread): Promise<void> {
  switch (message.type) {
    case 'init':
      init = message;
      openAhead(message);
      return;
    case 'start':
      return start(message.request);
    case 'target':
      (await host())?.setTarget(message.connector, message.target);
      return;
    case 'forgetTopics':
      (await host())?.forgetTopics(message.connector, message.asOfMs);
      return;
    case 'answer':
      questions.get(message.question)?.(message.error);
      return;
    case 'stop':
      await (await host())?.stopTask(message.id, message.gracefulMs);
      post({ type: 'done', call: message.call });
      return;
    case 'close':
      await (await host())?.close(message.gracefulMs);
      post({ type: 'done', call: message.call });
      port!.close();
      return;
  }
}

/** null = none was opened. */
async function host(): Promise<TaskHost | null> {
  try {
    return await opening;
  } catch {
    return null; // told to the task that asked for it
  }
}

async function postMetrics(): Promise<void> {
  post({ type: 'alive' });
  for (const { id, snapshot } of (await host())?.snapshots() ?? []) post({ type: 'metrics', id, snapshot });
}
setInterval(() => void postMetrics(), metricsMs).unref();

port.on('message', (message: ToThread) => {
  handle(message).catch(error => {
    // Thrown outside of any promise, so that it reaches the main thread as the error of this one.
    setImmediate(() => {
      throw error;
    });
  });
});
