/** What server answers, and whether the sink can write to it. */
import { ConnectError } from '../../runtime/api/index.ts';
import type { ElasticClient } from './elasticClient.ts';
import { errorAnswer, okAnswer } from './elasticFailure.ts';

const OLDEST_ELASTICSEARCH = 7;

/** Throws for a login that is refused, and a server that is too old. Who may not ask for the version may still write. */
export async function readServer(client: ElasticClient): Promise<void> {
  const answer = await client.send({ method: 'GET', path: '/' });
  if (answer.status === 403) return;
  if (answer.status >= 300) throw errorAnswer('GET /', answer);
  const { version } = okAnswer('GET /', answer) as { version?: { number?: string; distribution?: string } };
  if (version?.number === undefined)
    throw new ConnectError(
      'SINK_WRITE_FAILED',
      'what answers at connection.url is neither Elasticsearch nor OpenSearch; check connection.url',
    );
  if (version.distribution !== 'opensearch' && Number.parseInt(version.number, 10) < OLDEST_ELASTICSEARCH)
    throw new ConnectError(
      'SINK_WRITE_FAILED',
      `the target is Elasticsearch ${version.number}; this sink needs ${OLDEST_ELASTICSEARCH} or later`,
    );
}
