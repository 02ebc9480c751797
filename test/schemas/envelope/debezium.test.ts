import assert from 'node:assert/strict';
import { test } from 'node:test';
import { avroSchemaText } from '../../../schemas/avro/fromConnect.ts';
import { INT32, OPTIONAL_INT64, OPTIONAL_STRING, primitive, STRING } from '../../../schemas/data/index.ts';
import { envelopeSchema, keySchema, rowSchema, sourceSchema } from '../../../schemas/envelope/debezium.ts';

// As Debezium 3.6 with an Avro converter registers them for a table (id integer PRIMARY KEY, name varchar NOT NULL, qty integer DEFAULT 5, note text).
const recordedKey =
  '{"type":"record","name":"Key","namespace":"p.public.item","fields":[{"name":"id","type":"int"}],"connect.name":"p.public.item.Key"}';
const recordedValue =
  '{"type":"record","name":"Envelope","namespace":"p.public.item","fields":[{"name":"before","type":["null",{"type":"record","name":"Value","fields":[{"name":"id","type":"int"},{"name":"name","type":"string"},{"name":"qty","type":[{"type":"int","connect.default":5},"null"],"default":5},{"name":"note","type":["null","string"],"default":null}],"connect.name":"p.public.item.Value"}],"default":null},{"name":"after","type":["null","Value"],"default":null},{"name":"source","type":{"type":"record","name":"Source","namespace":"io.debezium.connector.postgresql","fields":[{"name":"version","type":"string"},{"name":"connector","type":"string"},{"name":"name","type":"string"},{"name":"ts_ms","type":"long"},{"name":"snapshot","type":[{"type":"string","connect.version":1,"connect.parameters":{"allowed":"true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"},"connect.default":"false","connect.name":"io.debezium.data.Enum"},"null"],"default":"false"},{"name":"db","type":"string"},{"name":"sequence","type":["null","string"],"default":null},{"name":"ts_us","type":["null","long"],"default":null},{"name":"ts_ns","type":["null","long"],"default":null},{"name":"schema","type":"string"},{"name":"table","type":"string"},{"name":"txId","type":["null","long"],"default":null},{"name":"lsn","type":["null","long"],"default":null},{"name":"xmin","type":["null","long"],"default":null},{"name":"origin","type":["null","string"],"default":null},{"name":"origin_lsn","type":["null","long"],"default":null}],"connect.version":1,"connect.name":"io.debezium.connector.postgresql.Source"}},{"name":"transaction","type":["null",{"type":"record","name":"block","namespace":"event","fields":[{"name":"id","type":"string"},{"name":"total_order","type":"long"},{"name":"data_collection_order","type":"long"}],"connect.version":1,"connect.name":"event.block"}],"default":null},{"name":"op","type":"string"},{"name":"ts_ms","type":["null","long"],"default":null},{"name":"ts_us","type":["null","long"],"default":null},{"name":"ts_ns","type":["null","long"],"default":null}],"connect.version":2,"connect.name":"p.public.item.Envelope"}';

test('the schemas of a table are those that Debezium registers', () => {
  const row = rowSchema('p.public.item', [
    ['id', INT32],
    ['name', STRING],
    ['qty', primitive('INT32', { optional: true, defaultValue: 5 })],
    ['note', OPTIONAL_STRING],
  ]);
  const source = sourceSchema('postgresql', [
    ['schema', STRING],
    ['table', STRING],
    ['txId', OPTIONAL_INT64],
    ['lsn', OPTIONAL_INT64],
    ['xmin', OPTIONAL_INT64],
    ['origin', OPTIONAL_STRING],
    ['origin_lsn', OPTIONAL_INT64],
  ]);
  const avro = { scrubInvalidNames: false };
  assert.deepEqual(
    JSON.parse(avroSchemaText(keySchema('p.public.item', [['id', INT32]]), avro)),
    JSON.parse(recordedKey),
  );
  assert.deepEqual(
    JSON.parse(avroSchemaText(envelopeSchema('p.public.item', row, source), avro)),
    JSON.parse(recordedValue),
  );
});
