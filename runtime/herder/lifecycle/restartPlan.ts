/** What a restart with tasks (KIP-745) will restart, and the states it answers with. */
import type { ConnectorStateInfo, TaskStatus } from '../herder.ts';

export interface RestartPlan {
  /** The present states, RESTARTING for what will restart. */
  readonly plan: ConnectorStateInfo;
  readonly connector: boolean;
  readonly tasks: readonly TaskStatus[];
}

export function restartPlan(
  before: ConnectorStateInfo,
  { includeTasks, onlyFailed }: { readonly includeTasks: boolean; readonly onlyFailed: boolean },
): RestartPlan {
  // What waits for a restart of its own has failed too, and need not wait longer.
  const wanted = ({ state }: { readonly state: string }): boolean =>
    !onlyFailed || state === 'FAILED' || state === 'RESTARTING';
  const connector = wanted(before.connector);
  const tasks = includeTasks ? before.tasks.filter(wanted) : [];
  const plan: ConnectorStateInfo = {
    ...before,
    connector: connector ? { ...before.connector, state: 'RESTARTING' } : before.connector,
    tasks: before.tasks.map(task => (tasks.includes(task) ? { ...task, state: 'RESTARTING' } : task)),
  };
  return { plan, connector, tasks };
}
