import type { Config, SinkConnector } from '../../runtime/api/index.ts';
import type { WantedOffset } from './offsetLedger.ts';

/** A sink connector whose tasks all have its own configuration: they share the partitions of its topics. Its offsets are those of its group, unless it says otherwise. */
export class UniformSinkConnector implements SinkConnector {
  #config: Config = {};

  start(config: Config): void {
    this.#config = config;
  }

  taskConfigs(maxTasks: number): Config[] {
    return Array.from({ length: maxTasks }, () => this.#config);
  }

  alterOffsets(_config: Config, _offsets: readonly WantedOffset[]): Promise<boolean> | boolean {
    return true;
  }

  stop(): void {}
}
