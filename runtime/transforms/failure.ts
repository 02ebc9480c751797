import { ConnectError, type ConnectRecord } from '../api/index.ts';

/** A record that a transform cannot work on: handled by the task's error tolerance. */
export const transformFailure = (transform: string, why: string, record?: ConnectRecord): ConnectError =>
  new ConnectError('TRANSFORM_FAILED', `${transform}: ${why}`, { place: record ? { topic: record.topic } : {} });

/** A setting that only all settings together show to be wrong. */
export const settingError = (transform: string, why: string): ConnectError =>
  new ConnectError('CONFIG_INVALID', `${transform}: ${why}`);
