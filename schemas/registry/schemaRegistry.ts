/** The schema registry port, in Confluent's terms. Adapters: the REST client, and the store embedded beside the embedded broker. */
export interface RegisteredSchema {
  readonly id: number;
  readonly subject: string;
  readonly version: number;
  readonly schema: string;
  readonly schemaType: 'AVRO' | 'JSON' | 'PROTOBUF';
}

export interface SchemaRegistry {
  /**
   * Registers an Avro schema under a subject, or finds it there, and returns its id.
   * Rejects with REGISTRY_INCOMPATIBLE (subject, version, what differs) or, retriable, REGISTRY_UNREACHABLE.
   */
  register(subject: string, schema: string): Promise<number>;
  /** The id under which the subject has this schema. Rejects with REGISTRY_SCHEMA_UNKNOWN. */
  lookup(subject: string, schema: string): Promise<number>;
  /** Rejects with REGISTRY_SCHEMA_UNKNOWN. */
  latest(subject: string): Promise<RegisteredSchema>;
  /** The schema text of an id. Rejects with REGISTRY_SCHEMA_UNKNOWN. */
  schemaById(id: number): Promise<string>;
  close?(): Promise<void>;
}
