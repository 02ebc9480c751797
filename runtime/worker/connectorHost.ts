/** Runs Connector instances, in the main thread: they plan, tasks work. A paused connector is kept but not started, as in Kafka Connect. */
import type { Config, Connector, ConnectorContext, Logger } from '../api/index.ts';
import { ConnectError } from '../api/index.ts';
import { failureReport } from './errors/failureReport.ts';
import type { ConnectorOffsets } from './offsets/connectorOffsets.ts';
import type { PluginRegistry } from './pluginRegistry.ts';
import type { ConnectorState, FailureReport, TargetState } from './types.ts';

export interface ConnectorListener {
  connectorState(name: string, state: ConnectorState, failure: FailureReport | null): void;
  /** New task configs are to be asked for. */
  reconfigure(name: string): void;
}

export interface ConnectorHostOptions {
  readonly plugins: PluginRegistry;
  readonly offsets: (connector: string, config: Config) => Promise<ConnectorOffsets>;
  readonly listener: ConnectorListener;
  readonly logger: Logger;
}

interface Hosted {
  readonly config: Config;
  readonly connector: Connector;
  /** null = not started. */
  running: AbortController | null;
}

export class ConnectorHost {
  readonly #options: ConnectorHostOptions;
  readonly #hosted = new Map<string, Hosted>();

  constructor(options: ConnectorHostOptions) {
    this.#options = options;
  }

  /** Rejects where the connector does not start. */
  async start(name: string, config: Config, target: TargetState): Promise<void> {
    await this.stop(name);
    const connector = (await this.#options.plugins.loadConnector(config['connector.class'] ?? '')).createConnector();
    const hosted: Hosted = { config, connector, running: null };
    this.#hosted.set(name, hosted);
    if (target === 'STARTED') await this.#run(name, hosted);
  }

  async setTarget(name: string, target: TargetState): Promise<void> {
    const hosted = this.#hosted.get(name);
    if (hosted === undefined) return;
    const { listener } = this.#options;
    try {
      if (target === 'STARTED' && hosted.running === null) await this.#run(name, hosted);
      else if (target !== 'STARTED') await this.#halt(hosted);
    } catch (error) {
      listener.connectorState(name, 'FAILED', failureReport(error, { connector: name }));
      return;
    }
    listener.connectorState(name, target === 'STARTED' ? 'RUNNING' : target, null);
  }

  async taskConfigs(name: string): Promise<Config[]> {
    const hosted = this.#hosted.get(name);
    if (hosted === undefined || hosted.running === null) {
      throw new ConnectError('TASK_FAILED', `Connector ${name} is not running, so that it has no task configs`);
    }
    return hosted.connector.taskConfigs(Number(hosted.config['tasks.max'] ?? 1));
  }

  async stop(name: string): Promise<void> {
    const hosted = this.#hosted.get(name);
    if (hosted === undefined) return;
    this.#hosted.delete(name);
    try {
      await this.#halt(hosted);
    } catch (error) {
      this.#options.logger.warn({ err: error, connector: name }, 'the connector did not stop cleanly');
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#hosted.keys()].map(name => this.stop(name)));
  }

  async #run(name: string, hosted: Hosted): Promise<void> {
    const { listener, logger, offsets } = this.#options;
    const running = new AbortController();
    hosted.running = running;
    const log =
      (level: keyof Logger) =>
      (fields: object, message: string): void =>
        logger[level]({ connector: name, ...fields }, message);
    const context: ConnectorContext = {
      connectorName: name,
      logger: { error: log('error'), warn: log('warn'), info: log('info'), debug: log('debug') },
      signal: running.signal,
      requestTaskReconfiguration: () => {
        if (!running.signal.aborted) listener.reconfigure(name);
      },
      raiseError: error => {
        if (running.signal.aborted) return;
        listener.connectorState(name, 'FAILED', failureReport(error, { connector: name }));
      },
      offsets: { offset: async partition => (await offsets(name, hosted.config)).offset(partition) },
    };
    try {
      await hosted.connector.start(hosted.config, context);
    } catch (error) {
      running.abort();
      hosted.running = null;
      throw error;
    }
  }

  async #halt(hosted: Hosted): Promise<void> {
    const { running } = hosted;
    if (running === null) return;
    hosted.running = null;
    running.abort();
    await hosted.connector.stop();
  }
}
