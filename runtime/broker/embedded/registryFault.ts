/** What a schema registry refuses, with the error codes of Confluent's REST API: the first three digits are the HTTP status. */
export const registryCodes = {
  subjectNotFound: 40401,
  versionNotFound: 40402,
  schemaNotFound: 40403,
  subjectSoftDeleted: 40404,
  subjectNotSoftDeleted: 40405,
  versionSoftDeleted: 40406,
  versionNotSoftDeleted: 40407,
  levelNotFound: 40408,
  incompatible: 409,
  invalidSchema: 42201,
  invalidVersion: 42202,
  invalidLevel: 42203,
} as const;

export class RegistryFault extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }

  get status(): number {
    return this.code < 1000 ? this.code : Math.floor(this.code / 100);
  }
}
