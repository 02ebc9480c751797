/** A process that reads the store of another and is killed inside a read transaction. */
import { openStore } from '../../../../runtime/broker/embedded/store.ts';

const store = openStore(process.argv[2]!, true);
const entries = store.meta.getRange({})[Symbol.iterator]();
entries.next();
process.send!('reading');
setInterval(() => entries, 60_000);
