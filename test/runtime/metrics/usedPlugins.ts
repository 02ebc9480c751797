/** Of a connector with everything that there can be. */
import type { TaskPlugins } from '../../../runtime/metrics/taskPlugins.ts';

export const usedPlugins: TaskPlugins = {
  connector: { className: 'x.Y', version: '1' },
  task: { className: 'x.YTask', version: '1' },
  keyConverter: { className: 'x.K', version: '2' },
  valueConverter: { className: 'x.V', version: null },
  headerConverter: { className: 'x.H', version: '3' },
  transforms: [{ name: 'a', className: 'x.T', version: '4' }],
  predicates: [{ name: 'b', className: 'x.P', version: '5' }],
};
