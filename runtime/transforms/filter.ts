import { configDef, type Transformation } from '../api/index.ts';
import { plugin } from './side.ts';

/** Filter: drops every record it sees; made to stand behind a predicate. */
class Filter implements Transformation {
  configure(): void {}
  apply(): null {
    return null;
  }
}

export const filterPlugin = plugin('Filter', configDef({}), () => new Filter());
