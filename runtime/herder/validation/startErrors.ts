/** What tasks would refuse at their start, told when the config comes: settings of transforms that do not go together, a predicate that is not there, rules for topics. */
import { ConnectError } from '../../../schemas/errors.ts';
import type { Config, ConfigError } from '../../api/index.ts';
import type { WorkerConfig } from '../../config/workerConfig.ts';
import type { ConnectorPlugin, PluginRegistry } from '../../worker/pluginRegistry.ts';
import { TopicCreationRules } from '../../worker/source/topicCreation.ts';
import { TransformChain } from '../../worker/transformChain.ts';

/** Of configs whose keys are right, each by itself. */
export async function startErrors(
  plugin: ConnectorPlugin,
  config: Config,
  worker: WorkerConfig,
  plugins: PluginRegistry,
): Promise<ConfigError[]> {
  const errors = await errorsOf('transforms', async () => (await TransformChain.fromConfig(config, plugins))?.close());
  if (plugin.kind === 'sink') return errors;
  const rules = await errorsOf('topic.creation.groups', async () => {
    TopicCreationRules.fromConfig(config, worker['topic.creation.enable']);
  });
  return [...errors, ...rules];
}

/** The key is the one that the message names, where it names one. */
async function errorsOf(part: string, start: () => Promise<void>): Promise<ConfigError[]> {
  try {
    await start();
    return [];
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    const named = /\b(?:transforms|predicates|topic\.creation)\.[\w.-]*\w/.exec(error.message)?.[0];
    return [{ key: named ?? part, message: error.message }];
  }
}
