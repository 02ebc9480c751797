/**
 * All error codes, each with what it means and what to do. Codes are stable: they may be added, never renamed.
 * `docs/errors.md` is generated from this list.
 */
export const errorCodes = {
  DATA_INVALID: 'A value does not fit its schema. The message names the field and both.',
  CONVERTER_FAILED: 'A record could not be converted to or from bytes. The message names topic, partition and offset.',
  REGISTRY_UNREACHABLE:
    'The schema registry did not answer. Check schema.registry.url; the task retries, no offset is lost.',
  REGISTRY_INCOMPATIBLE:
    'The registry refused a schema as incompatible with the registered versions of its subject. The message names subject, version and what differs.',
  REGISTRY_SCHEMA_UNKNOWN:
    'The registry has no schema for an id or subject. Check that the topic was written with this registry.',
  CONFIG_INVALID: 'A configuration value is missing or invalid. The message names the key.',
  TASK_FAILED: 'A task ended by an error that has no code of its own. The trace tells more.',
} as const;

export type ErrorCode = keyof typeof errorCodes;
