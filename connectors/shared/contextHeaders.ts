/** The headers that tell consumers which connector, task and run a record comes from, as Debezium writes them. */
import { randomUUID } from 'node:crypto';
import type { Header } from '../../runtime/api/index.ts';
import { STRING } from '../../schemas/data/index.ts';

/** For one run of a task: each call makes a run of its own. */
export function contextHeaders(prefix: string, taskId: number, connectorName: string): readonly Header[] {
  const header = (name: string, value: string): Header => ({
    name: `__debezium.context.${name}`,
    schema: STRING,
    value,
  });
  return [
    header('connectorLogicalName', prefix),
    header('taskId', String(taskId)),
    header('connectorName', connectorName),
    header('runId', randomUUID()),
  ];
}
