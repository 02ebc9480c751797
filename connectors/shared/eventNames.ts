/** Names of topics, schemas and fields. */

export type NameAdjustment = 'none' | 'avro' | 'avro_unicode';

const MAX_TOPIC_LENGTH = 249;

/** Characters that a topic name may not have become underscores; too long a name is cut. */
export const topicName = (name: string): string => name.replace(/[^A-Za-z0-9._-]/g, '_').slice(0, MAX_TOPIC_LENGTH);

/** Makes a name fit for Avro, part by part between dots for schema names. */
export function adjustSchemaName(name: string, mode: NameAdjustment): string {
  return mode === 'none'
    ? name
    : name
        .split('.')
        .map(part => adjustName(part, mode))
        .join('.');
}

export function adjustName(name: string, mode: NameAdjustment): string {
  if (mode === 'none') return name;
  const other = (c: string): string =>
    mode === 'avro' ? '_' : Array.from(c, u => `_u${u.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
  const valid = name.replace(/[^A-Za-z0-9_]/g, other);
  if (!/^[0-9]/.test(valid)) return valid;
  return mode === 'avro' ? `_${valid}` : other(valid[0]!) + valid.slice(1);
}
