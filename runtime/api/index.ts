/** All that a connector author needs; the public surface of the runtime. */

export type { ErrorCode } from '../../schemas/errorCodes.ts';
export { asConnectError, ConnectError, type ErrorPlace } from '../../schemas/errors.ts';
export * from './configDef.ts';
export type * from './connector.ts';
export type * from './converterPlugin.ts';
export type * from './logger.ts';
export * from './plugin.ts';
export type * from './record.ts';
export * from './sinkBatch.ts';
export * from './sourceBatch.ts';
export type * from './taskMetrics.ts';
export type * from './transform.ts';
