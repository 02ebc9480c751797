/** Entry of a task thread: a TaskHost that takes its orders by message. */
import { parentPort } from 'node:worker_threads';
import { PluginRegistry } from '../pluginRegistry.ts';
import { TaskHost } from '../taskHost.ts';
import type { FromThread, ToThread } from './messages.ts';
import { threadLogger } from './threadLogger.ts';

/** Between snapshots of the metrics, and signs of life. */
const metricsMs = 1_000;

const port = parentPort;
if (port === null) throw new Error('this module is the entry of a task thread');
const post = (message: FromThread): void => port.postMessage(message);

let host: Promise<TaskHost> | null = null;

async function init(message: Extract<ToThread, { type: 'init' }>): Promise<TaskHost> {
  const { config, pluginModules } = message;
  const opened = await TaskHost.open({
    config,
    plugins: await PluginRegistry.load(pluginModules),
    listener: {
      taskState: (id, state, failure) => post({ type: 'taskState', id, state, failure }),
      topicUsed: (id, topic) => post({ type: 'topicUsed', id, topic }),
    },
    logger: threadLogger(post),
  });
  setInterval(() => {
    post({ type: 'alive' });
    for (const { id, snapshot } of opened.snapshots()) post({ type: 'metrics', id, snapshot });
  }, metricsMs).unref();
  return opened;
}

/** An error here, such as a broker that is not there, ends the thread; the main thread fails its tasks with it. */
async function handle(message: ToThread): Promise<void> {
  if (message.type === 'init') {
    host = init(message);
    await host;
    return;
  }
  const ready = await host!;
  switch (message.type) {
    case 'start':
      ready.startTask(message.request);
      return;
    case 'target':
      ready.setTarget(message.connector, message.target);
      return;
    case 'forgetTopics':
      ready.forgetTopics(message.connector);
      return;
    case 'stop':
      await ready.stopTask(message.id, message.gracefulMs);
      post({ type: 'done', call: message.call });
      return;
    case 'close':
      await ready.close(message.gracefulMs);
      post({ type: 'done', call: message.call });
      port!.close();
      return;
  }
}

port.on('message', (message: ToThread) => {
  handle(message).catch(error => {
    // Thrown outside of any promise, so that it reaches the main thread as the error of this one.
    setImmediate(() => {
      throw error;
    });
  });
});
