/** Subject name strategies under Confluent's class names. */
import { ConnectError } from '../errors.ts';

/** The subject for a topic's keys or values; `recordName` is the schema's full name, null where it has none. */
export type SubjectNameStrategy = (topic: string, isKey: boolean, recordName: string | null) => string;

const packageName = 'io.confluent.kafka.serializers.subject.';
const suffix = (isKey: boolean): string => (isKey ? '-key' : '-value');

function named(strategy: string, recordName: string | null): string {
  if (recordName !== null) return recordName;
  throw new ConnectError('CONVERTER_FAILED', `${strategy} needs a struct schema with a name; use TopicNameStrategy`);
}

export const subjectNameStrategies: Readonly<Record<string, SubjectNameStrategy>> = {
  [`${packageName}TopicNameStrategy`]: (topic, isKey) => topic + suffix(isKey),
  [`${packageName}RecordNameStrategy`]: (_topic, _isKey, name) => named('RecordNameStrategy', name),
  [`${packageName}TopicRecordNameStrategy`]: (topic, _isKey, name) =>
    `${topic}-${named('TopicRecordNameStrategy', name)}`,
};

/** By full or simple class name. */
export function subjectNameStrategy(className: string): SubjectNameStrategy | null {
  const full = className.includes('.') ? className : packageName + className;
  return Object.hasOwn(subjectNameStrategies, full) ? subjectNameStrategies[full] : null;
}
