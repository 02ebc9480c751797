import type { Config } from '../../api/index.ts';

export function sameConfig(a: Config, b: Config): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every(key => a[key] === b[key]);
}
