/** Every setting that bounds the size of a record, so that a user need not meet one limit after the other. */
export function allowLargerRecords(topic: string, recordBytes: number): string {
  // Room for what the record grows by in its batch, and for the next one.
  const bytes = Math.ceil((recordBytes * 1.25) / 1_048_576) * 1_048_576;
  return `Set producer.override.max.request.size=${bytes} of the connector and topic.creation.default.max.message.bytes=${bytes} for topics that it creates; topic ${topic}, where it exists on Kafka, by kafka-configs.sh --alter --entity-type topics --entity-name ${topic} --add-config max.message.bytes=${bytes}.`;
}
