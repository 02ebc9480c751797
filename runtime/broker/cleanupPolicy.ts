/** The cleanup.policy of a topic that must keep the last record of each key. */
import { ConnectError, type Logger } from '../api/index.ts';
import type { Admin } from './port.ts';

/** null = not known: who may only read and write a topic may not see its settings. That is logged. */
export async function cleanupPolicy(admin: Admin, topic: string, logger: Logger): Promise<string | null> {
  try {
    return (await admin.topicConfig(topic)).get('cleanup.policy') ?? null;
  } catch (error) {
    if (!(error instanceof ConnectError && error.code === 'BROKER_NOT_AUTHORIZED')) throw error;
    const message = `the settings of topic ${topic} may not be read (DescribeConfigs): make sure that its cleanup.policy is compact`;
    logger.warn({ topic }, message);
    return null;
  }
}
