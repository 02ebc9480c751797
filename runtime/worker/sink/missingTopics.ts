/** Tells of topics that a sink is to read and that are not there: it waits for them, which looks like a sink without work. */
import type { Logger } from '../../api/index.ts';
import type { Broker } from '../../broker/port.ts';

/** Never rejects: whether the topics can be read is for the consumer to find out. */
export async function warnOfMissingTopics(
  topics: readonly string[] | RegExp,
  broker: Broker,
  logger: Logger,
): Promise<void> {
  try {
    const admin = broker.admin();
    if (topics instanceof RegExp) {
      if ((await admin.listTopics()).some(topic => topics.test(topic))) return;
      logger.warn({ pattern: topics.source }, 'no topic matches topics.regex; waiting for one');
      return;
    }
    const there = new Set((await admin.describeTopics(topics)).map(({ name }) => name));
    const missing = topics.filter(topic => !there.has(topic));
    if (missing.length === 0) return;
    logger.warn(
      { topics: missing },
      `topics that this sink reads do not exist, waiting for them: ${missing.join(', ')}`,
    );
  } catch (error) {
    logger.debug({ err: error }, 'whether the topics of the sink exist is not known');
  }
}
