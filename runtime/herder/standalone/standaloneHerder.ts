/**
 * The herder of a single worker process. Configs, target states and statuses live in topics, so that connectors made over REST run again after a
 * restart. Holds the group, so that no second worker runs the same connectors.
 */
import { ConnectError } from '../../../schemas/errors.ts';
import type { Config } from '../../api/index.ts';
import { AbstractHerder } from '../abstractHerder.ts';
import type { ConnectorStateInfo, Herder } from '../herder.ts';
import { type HerderOptions, herderParts, startWorker } from '../herderParts.ts';
import { restartPlan } from '../lifecycle/restartPlan.ts';
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

  async restartConnector(name: string): Promise<void> {
    this.require(name, `Unknown connector: ${name}`);
    await this.supervisor(name).restart({ connector: true, tasks: [] });
  }

  async restartWithTasks(
    name: string,
    { includeTasks, onlyFailed }: { includeTasks: boolean; onlyFailed: boolean },
  ): Promise<ConnectorStateInfo> {
    this.require(name, `Unknown connector: ${name}`);
    const { statuses } = this.parts;
    const before = this.connectorStatus(name);
    const { plan, connector, tasks } = restartPlan(before, { includeTasks, onlyFailed });
    // A stopped connector has nothing to restart, and stays STOPPED.
    if (before.connector.state === 'STOPPED') return plan;
    if (connector) statuses.connector(name, 'RESTARTING', before.connector.trace ?? null);
    for (const { id, trace } of tasks) statuses.task(name, id, 'RESTARTING', trace ?? null);
    void this.supervisor(name).restart({ connector, tasks: tasks.map(({ id }) => id) });
    return plan;
  }

  async restartTask(name: string, task: number): Promise<void> {
    const entry = this.require(name, `Unknown connector: ${name}`);
    if (task >= entry.taskConfigs.length) throw unknown(`Unknown task: ${name}-${task}`);
    await this.supervisor(name).restart({ connector: false, tasks: [task] });
  }

  protected owns(): boolean {
    return true;
  }

  protected requireWriter(): void {}

  protected written(name: string): void {
    void this.supervisor(name).sync();
  }

  protected stopped(name: string): Promise<void> {
    return this.supervisor(name).idle();
  }

  protected commitTasks(name: string, configs: readonly Config[]): Promise<void> {
    return this.parts.configs.write(taskRecords(name, configs));
  }

  protected async end(): Promise<void> {
    await this.supervisors.close();
    this.parts.statuses.unassign();
  }
}

function unknown(message: string): ConnectError {
  return new ConnectError('RESOURCE_UNKNOWN', message);
}
