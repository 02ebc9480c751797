/** The config of a worker whose tasks share the test's thread and, by the scripted plugin, its state. */
import { loadWorkerConfig } from '../../../runtime/config/loadWorkerConfig.ts';
import type { WorkerConfig } from '../../../runtime/config/workerConfig.ts';

export function scriptedConfig(dataDir: string, settings: Readonly<Record<string, string>> = {}): WorkerConfig {
  return loadWorkerConfig({
    flags: {
      'data.dir': dataDir,
      'task.threads': '0',
      'key.converter': 'org.apache.kafka.connect.json.JsonConverter',
      'value.converter': 'org.apache.kafka.connect.json.JsonConverter',
      ...settings,
    },
  }).config;
}
