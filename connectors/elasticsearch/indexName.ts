/** Names of indices and data streams, by the rules of the known sinks. */
import { ConnectError } from '../../runtime/api/index.ts';
import type { SinkSettings } from './config.ts';

const MAX_INDEX_BYTES = 255;
const MAX_NAMESPACE_BYTES = 100;

/** Where the records of a topic go. Throws where the configuration names nothing for it. */
export function targetName(topic: string, settings: SinkSettings): string {
  if (settings.resources !== null) {
    const name = settings.resources.get(topic);
    if (name !== undefined) return name;
    throw new ConnectError(
      'SINK_INDEX_MISSING',
      `topic.to.external.resource.mapping has no index for topic ${topic}; add ${topic}:<name>`,
      { place: { topic } },
    );
  }
  const { dataStream } = settings;
  if (dataStream === null) {
    const name = indexName(topic);
    if (name !== '') return name;
    throw new ConnectError(
      'SINK_INDEX_FAILED',
      `the name of topic ${topic} leaves nothing for the name of an index, which begins with neither - nor _; give it another one with a RegexRouter transform`,
      { place: { topic } },
    );
  }
  const namespace = dataStream.namespace.replaceAll('${topic}', topic).toLowerCase();
  return `${dataStream.type}-${dataStream.dataset.toLowerCase()}-${firstBytes(namespace, MAX_NAMESPACE_BYTES)}`;
}

/** The topic in lower case, its first 255 bytes, without `-` and `_` at the beginning. */
export function indexName(topic: string): string {
  const name = firstBytes(topic.toLowerCase(), MAX_INDEX_BYTES).replace(/^[-_]+/, '');
  return name === '.' || name === '..' ? name.replaceAll('.', 'dot') : name;
}

function firstBytes(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  return encoded.length <= bytes
    ? text
    : encoded
        .subarray(0, bytes)
        .toString()
        .replace(/\uFFFD$/, '');
}
