import { plugins } from '../../runtime/converters/index.ts';
import type { Converter } from '../../schemas/converter.ts';

/** An Avro converter on a registry's REST API, as a consumer of the topics would use. */
export function avroConverter(registryUrl: string): Converter {
  const plugin = plugins.find(p => p.className === 'io.confluent.connect.avro.AvroConverter');
  if (plugin?.kind !== 'converter') throw new Error('there is no Avro converter');
  return plugin.create({ 'schema.registry.url': registryUrl }, false, () => {
    throw new Error('the converter has a registry of its own');
  });
}
