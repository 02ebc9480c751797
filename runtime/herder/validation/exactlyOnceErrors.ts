/** Whether a source connector can do what its config asks of exactly-once delivery; texts are Kafka Connect's. */
import type { Config, ConfigError, SourcePlugin } from '../../api/index.ts';
import type { WorkerConfig } from '../../config/workerConfig.ts';
import type { ConfigInfo } from './configInfos.ts';

const supportKey = 'exactly.once.support';
const boundaryKey = 'transaction.boundary';

/** Keys whose own values are wrong (`infos`) are not looked at. */
export function exactlyOnceErrors(
  plugin: SourcePlugin,
  config: Config,
  infos: readonly ConfigInfo[],
  worker: Pick<WorkerConfig, 'exactly.once.source.support'>,
): ConfigError[] {
  const asks = (key: string, value: string): boolean =>
    config[key]?.trim().toLowerCase() === value &&
    infos.every(info => info.value.name !== key || info.value.errors.length === 0);
  const errors: ConfigError[] = [];
  const add = (key: string, message: string | null): void => {
    if (message !== null) errors.push({ key, message });
  };
  if (asks(supportKey, 'required')) {
    if (worker['exactly.once.source.support'] !== 'enabled') {
      add(supportKey, 'This worker does not have exactly-once source support enabled.');
    }
    add(
      supportKey,
      explained(() => supportError(plugin, config)),
    );
  }
  if (asks(boundaryKey, 'connector')) {
    add(
      boundaryKey,
      explained(() => boundaryError(plugin, config)),
    );
  }
  return errors;
}

function supportError(plugin: SourcePlugin, config: Config): string | null {
  const connector = plugin.createConnector();
  if (connector.exactlyOnceSupport === undefined) {
    return 'The connector does not implement the API required for preflight validation of exactly-once source support. Please consult the documentation for the connector to determine whether it supports exactly-once semantics, and then consider reconfiguring the connector to use the value "requested" for this property (which will disable this preflight check and allow the connector to be created).';
  }
  if (connector.exactlyOnceSupport(config) === 'SUPPORTED') return null;
  return 'The connector does not support exactly-once semantics with the provided configuration.';
}

function boundaryError(plugin: SourcePlugin, config: Config): string | null {
  if (plugin.createConnector().canDefineTransactionBoundaries?.(config) === 'SUPPORTED') return null;
  return 'The connector does not support connector-defined transaction boundaries with the given configuration. Please reconfigure it to use a different transaction boundary definition.';
}

function explained(check: () => string | null): string | null {
  try {
    return check();
  } catch (error) {
    const message = error instanceof Error ? error.message.trim() : String(error);
    return `An unexpected error occurred during validation: ${message}`;
  }
}
