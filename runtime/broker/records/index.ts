export { at, batchHeaderBytes } from './batchHeader.ts';
export { type ScannedBatch, scanBatches } from './batchScan.ts';
export { BufferPool } from './bufferPool.ts';
export { partitionForKey } from './partitionForKey.ts';
export { type Isolation, type RecordColumns, readRecords } from './readRecords.ts';
export { RecordBatchBuilder } from './recordBatchBuilder.ts';
export { decodeHeaders, encodeHeaders, noHeaders, type RecordHeader } from './recordHeaders.ts';
export { type SealOptions, sealBatch, sealInPlace } from './sealBatch.ts';
export { splitBatch } from './splitBatch.ts';
