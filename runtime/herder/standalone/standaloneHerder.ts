/**
 * The herder of a single worker process. Configs, target states and statuses live in topics, so that connectors made over REST run again after a
 * restart. Holds the group, so that no second worker runs the same connectors.
 */
import type { Config } from '../../api/index.ts';
import { AbstractHerder } from '../abstractHerder.ts';
import type { ConnectorStateInfo, Herder } from '../herder.ts';
import { type HerderOptions, herderParts, startWorker } from '../herderParts.ts';
import { Supervisors } from '../lifecycle/supervisors.ts';
import { taskRecords } from '../stores/configState.ts';
import { ConfigStore } from '../stores/configStore.ts';
import { internalTopicOptions } from '../stores/internalTopicOptions.ts';
import { StatusStore } from '../stores/statusStore.ts';

export interface StandaloneOptions extends HerderOptions {
  /** Another worker of the same group goes first: this one must stop. */
  readonly onGroupTaken: (error: unknown) => void;
}

export class StandaloneHerder extends AbstractHerder implements Herder {
  readonly internal = null;

  /** Resolves when the state is read; connectors start behind. */
  static async start(options: StandaloneOptions): Promise<StandaloneHerder> {
    const { config, logger, workerId, onGroupTaken: onTaken } = options;
    const supervisors = new Supervisors(config['topic.tracking.enable']);
    const worker = await startWorker(options, supervisors);
    try {
      const { broker } = worker;
      const groupId = config['group.id'];
      await broker.holdGroup({ groupId, clientId: `${groupId}-worker`, holder: workerId, onTaken });
      const configs = await ConfigStore.open(internalTopicOptions('config', broker, config, logger));
      const statusStore = await StatusStore.open(internalTopicOptions('status', broker, config, logger));
      const parts = await herderParts(options, worker, configs, statusStore);
      const herder = new StandaloneHerder(options, parts, supervisors);
      parts.statuses.unassign();
      for (const name of configs.state.names()) void herder.supervisor(name).sync();
      herder.completeStage();
      return herder;
    } catch (error) {
      await worker.close();
      throw error;
    }
  }

  async restartWithTasks(
    name: string,
    options: { readonly includeTasks: boolean; readonly onlyFailed: boolean },
  ): Promise<ConnectorStateInfo> {
    const planned = this.planRestart(name, options);
    this.restartOwn(planned);
    return planned.plan;
  }

  async tellOthers(): Promise<void> {}

  async catchUp(): Promise<void> {}

  async announceLogLevel(): Promise<void> {}

  protected owns(): boolean {
    return true;
  }

  protected requireWriter(): void {}

  protected requireOwner(): void {}

  protected written(name: string): void {
    void this.supervisor(name).sync();
  }

  protected stopped(name: string): Promise<void> {
    return this.supervisor(name).idle();
  }

  protected async fence(): Promise<void> {}

  protected generation(): undefined {}

  protected commitTasks(name: string, configs: readonly Config[]): Promise<void> {
    return this.parts.configs.writeAsLeader(taskRecords(name, configs));
  }

  protected async end(): Promise<void> {
    await this.supervisors.close();
    this.parts.statuses.unassign();
  }
}
