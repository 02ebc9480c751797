/** `npm run bench -- <case>`: speed measured side by side with another way of doing the same. JSON lines on stdout, progress on stderr. */
import { clusterScale } from './cases/clusterScale.ts';
import { exactlyOnce } from './cases/exactlyOnce.ts';
import { pgBacklog } from './cases/pgBacklog.ts';
import { pgSnapshotToTopic } from './cases/pgSnapshotToTopic.ts';
import { pgStreamToTopic } from './cases/pgStreamToTopic.ts';
import { pgToPg } from './cases/pgToPg.ts';
import { rebalance } from './cases/rebalance.ts';
import { topicToMysql } from './cases/topicToMysql.ts';
import { topicToPg } from './cases/topicToPg.ts';
import { type CaseName, type Options, parseOptions, USAGE } from './options.ts';
import { progress, Report } from './report.ts';
import { Servers } from './servers.ts';

const cases: Record<CaseName, (servers: Servers, options: Options, report: Report) => Promise<void>> = {
  'pg-snapshot-to-topic': pgSnapshotToTopic,
  'pg-stream-to-topic': pgStreamToTopic,
  'topic-to-pg': topicToPg,
  'topic-to-mysql': topicToMysql,
  'pg-to-pg': (...args) => (args[1].backlog ? pgBacklog(...args) : pgToPg(...args)),
  'exactly-once': exactlyOnce,
  rebalance,
  'cluster-scale': clusterScale,
};

if (process.argv.includes('--help')) {
  console.log(USAGE);
  process.exit(0);
}
let options: Options;
try {
  options = parseOptions(process.argv.slice(2));
} catch (error) {
  console.error((error as Error).message);
  process.exit(2);
}

const servers = await Servers.start(options);
const stopEarly = (): void => {
  progress('stopping');
  void servers.stop().finally(() => process.exit(1));
};
process.once('SIGINT', stopEarly).once('SIGTERM', stopEarly);
try {
  const report = new Report(options.caseName);
  await cases[options.caseName](servers, options, report);
  report.end();
} finally {
  await servers.stop();
}
