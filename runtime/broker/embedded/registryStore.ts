/**
 * Subjects, versions, ids and compatibility levels, kept as documents in the store of the embedded broker. Decisions are made from what was read, and written
 * only if it is still so: several threads may register at once. Throws RegistryFault.
 */
import { createHash } from 'node:crypto';
import { type AvroType, parseAvroSchema } from '../../../schemas/avro/avroSchema.ts';
import { parseJson, stringifyJson } from '../../../schemas/json/exactJson.ts';
import type { RegisteredSchema } from '../../../schemas/registry/schemaRegistry.ts';
import { unreadableReasons } from './avroReadability.ts';
import type { DocumentChange } from './protocol.ts';
import { RegistryFault, registryCodes } from './registryFault.ts';
import { readMeta, type Store } from './store.ts';

export const compatibilityLevels = [
  'NONE',
  'BACKWARD',
  'BACKWARD_TRANSITIVE',
  'FORWARD',
  'FORWARD_TRANSITIVE',
  'FULL',
  'FULL_TRANSITIVE',
] as const;
export type CompatibilityLevel = (typeof compatibilityLevels)[number];
export type VersionSelector = number | 'latest';

interface VersionDocument {
  readonly version: number;
  readonly id: number;
  readonly deleted?: true;
}
interface SubjectDocument {
  readonly versions: readonly VersionDocument[];
  /** Of the last version ever made: numbers are not used again. */
  readonly lastVersion: number;
  readonly level?: CompatibilityLevel;
}

export interface RegistryDocuments {
  readonly store: Store;
  /** All or nothing; false: something expected has changed. */
  change(changes: readonly DocumentChange[]): Promise<boolean>;
  close(): Promise<void>;
}

const defaultLevel: CompatibilityLevel = 'BACKWARD';

export class RegistryStore {
  #documents: RegistryDocuments;

  constructor(documents: RegistryDocuments) {
    this.#documents = documents;
  }

  async register(subject: string, schema: string): Promise<RegisteredSchema> {
    const { text, type } = parse(schema);
    return this.#retry(() => {
      const found = this.#subject(subject);
      const known = this.#versionOf(found, text);
      if (known !== undefined) return { result: this.#registered(subject, known), changes: [] };
      this.#checkCompatible(subject, found, type);
      const hashKey = ['registry', 'hash', hashOf(text)];
      const knownId = this.#read<number>(hashKey);
      const lastId = this.#read<number>(['registry', 'sequence']);
      const id = knownId ?? (lastId ?? 0) + 1;
      const version = (found?.lastVersion ?? 0) + 1;
      const changes: DocumentChange[] = [
        this.#change(
          ['registry', 'subject', subject],
          {
            ...found,
            versions: [...(found?.versions ?? []), { version, id }],
            lastVersion: version,
          } satisfies SubjectDocument,
          found,
        ),
      ];
      if (knownId === undefined)
        changes.push(
          this.#change(['registry', 'sequence'], id, lastId),
          this.#change(hashKey, id, undefined),
          this.#change(['registry', 'schema', id], text, undefined),
        );
      return { result: { id, subject, version, schema: text, schemaType: 'AVRO' }, changes };
    });
  }

  /** The version of the subject that has this schema. */
  find(subject: string, schema: string, includeDeleted = false): RegisteredSchema {
    const { text } = parse(schema);
    const found = this.#existing(subject, includeDeleted);
    const known = this.#versionOf(found, text, includeDeleted);
    if (known === undefined)
      throw new RegistryFault(registryCodes.schemaNotFound, `Schema not found in subject '${subject}'`);
    return this.#registered(subject, known);
  }

  version(subject: string, selector: VersionSelector, includeDeleted = false): RegisteredSchema {
    return this.#registered(
      subject,
      this.#select(subject, this.#existing(subject, includeDeleted), selector, includeDeleted),
    );
  }

  versions(subject: string, includeDeleted = false): number[] {
    return visible(this.#existing(subject, includeDeleted), includeDeleted).map(({ version }) => version);
  }

  subjects(includeDeleted = false): string[] {
    return this.#subjects()
      .filter(({ document }) => visible(document, includeDeleted).length > 0)
      .map(({ subject }) => subject);
  }

  schemaById(id: number): string {
    const text = this.#read<string>(['registry', 'schema', id], true);
    if (text === undefined) throw new RegistryFault(registryCodes.schemaNotFound, `Schema ${id} not found`);
    return text;
  }

  versionsOfId(id: number, includeDeleted = false): { subject: string; version: number }[] {
    this.schemaById(id);
    return this.#subjects().flatMap(({ subject, document }) =>
      visible(document, includeDeleted)
        .filter(version => version.id === id)
        .map(({ version }) => ({ subject, version })),
    );
  }

  /** Softly, or, what is deleted softly, for good. Returns the versions. */
  deleteSubject(subject: string, permanent: boolean): Promise<number[]> {
    return this.#retry(() => {
      const found = this.#existing(subject, true);
      const live = visible(found, false);
      if (permanent && live.length > 0)
        throw new RegistryFault(
          registryCodes.subjectNotSoftDeleted,
          `Subject '${subject}' was not deleted first before being permanently deleted`,
        );
      if (!permanent && live.length === 0)
        throw new RegistryFault(
          registryCodes.subjectSoftDeleted,
          `Subject '${subject}' was soft deleted. Set permanent=true to delete permanently`,
        );
      const next: SubjectDocument = {
        lastVersion: found.lastVersion,
        versions: permanent ? [] : found.versions.map(version => ({ ...version, deleted: true })),
      };
      const versions = (permanent ? found.versions : live).map(({ version }) => version);
      return { result: versions, changes: [this.#change(['registry', 'subject', subject], next, found)] };
    });
  }

  deleteVersion(subject: string, selector: VersionSelector, permanent: boolean): Promise<number> {
    return this.#retry(() => {
      const found = this.#existing(subject, true);
      const selected = this.#select(subject, found, selector, true);
      if (permanent && !selected.deleted)
        throw new RegistryFault(
          registryCodes.versionNotSoftDeleted,
          `Subject '${subject}' Version ${selected.version} was not deleted first before being permanently deleted`,
        );
      if (!permanent && selected.deleted)
        throw new RegistryFault(
          registryCodes.versionSoftDeleted,
          `Subject '${subject}' Version ${selected.version} was soft deleted. Set permanent=true to delete permanently`,
        );
      const versions = permanent
        ? found.versions.filter(version => version !== selected)
        : found.versions.map(version => (version === selected ? { ...version, deleted: true as const } : version));
      const change = this.#change(['registry', 'subject', subject], { ...found, versions }, found);
      return { result: selected.version, changes: [change] };
    });
  }

  /** Why the schema could not be registered now; empty: it could. `all` = against those that the level names. */
  incompatibilities(subject: string, schema: string, selector: VersionSelector | 'all'): string[] {
    const { type } = parse(schema);
    const found = this.#existing(subject, false);
    if (selector === 'all') return this.#incompatibilities(subject, found, type, this.#against(found));
    return this.#incompatibilities(subject, found, type, [this.#select(subject, found, selector, false)]);
  }

  globalLevel(): CompatibilityLevel {
    return this.#read<CompatibilityLevel>(['registry', 'level'], true) ?? defaultLevel;
  }

  async setGlobalLevel(level: string): Promise<void> {
    const checked = checkLevel(level);
    await this.#documents.change([{ key: ['registry', 'level'], value: checked }]);
  }

  /** null: the subject has none of its own. */
  subjectLevel(subject: string): CompatibilityLevel | null {
    this.#documents.store.refresh();
    return this.#subject(subject)?.level ?? null;
  }

  /** null: the global one again. */
  setSubjectLevel(subject: string, level: string | null): Promise<void> {
    const checked = level === null ? undefined : checkLevel(level);
    return this.#retry(() => {
      const found = this.#subject(subject);
      const { level: _, ...rest } = found ?? { versions: [], lastVersion: 0 };
      const next: SubjectDocument = checked === undefined ? rest : { ...rest, level: checked };
      return { result: undefined, changes: [this.#change(['registry', 'subject', subject], next, found)] };
    });
  }

  close(): Promise<void> {
    return this.#documents.close();
  }

  #checkCompatible(subject: string, found: SubjectDocument | undefined, type: AvroType): void {
    if (found === undefined) return;
    const reasons = this.#incompatibilities(subject, found, type, this.#against(found));
    if (reasons.length > 0)
      throw new RegistryFault(
        registryCodes.incompatible,
        `Schema being registered is incompatible with an earlier schema for subject "${subject}", details: ${reasons.join('; ')}; compatibility: ${this.#levelOf(found)}`,
      );
  }

  #levelOf(found: SubjectDocument): CompatibilityLevel {
    return found.level ?? this.#read<CompatibilityLevel>(['registry', 'level']) ?? defaultLevel;
  }

  /** The versions that a new one has to fit. */
  #against(found: SubjectDocument): readonly VersionDocument[] {
    const live = visible(found, false);
    return this.#levelOf(found).endsWith('_TRANSITIVE') ? live : live.slice(-1);
  }

  #incompatibilities(
    subject: string,
    found: SubjectDocument,
    type: AvroType,
    against: readonly VersionDocument[],
  ): string[] {
    const level = this.#levelOf(found);
    const reasons: string[] = [];
    for (const { version, id } of against) {
      const earlier = parseAvroSchema(this.#read<string>(['registry', 'schema', id])!);
      if (level.startsWith('BACKWARD') || level.startsWith('FULL'))
        for (const reason of unreadableReasons(type, earlier))
          reasons.push(`the new schema cannot read version ${version} of ${subject}: ${reason}`);
      if (level.startsWith('FORWARD') || level.startsWith('FULL'))
        for (const reason of unreadableReasons(earlier, type))
          reasons.push(`version ${version} of ${subject} cannot read the new schema: ${reason}`);
    }
    return reasons;
  }

  #versionOf(found: SubjectDocument | undefined, text: string, includeDeleted = false): VersionDocument | undefined {
    const id = this.#read<number>(['registry', 'hash', hashOf(text)]);
    if (id === undefined || found === undefined) return undefined;
    return visible(found, includeDeleted).find(version => version.id === id);
  }

  #select(
    subject: string,
    found: SubjectDocument,
    selector: VersionSelector,
    includeDeleted: boolean,
  ): VersionDocument {
    const versions = visible(found, includeDeleted);
    const selected = selector === 'latest' ? versions.at(-1) : versions.find(({ version }) => version === selector);
    if (selected === undefined)
      throw new RegistryFault(registryCodes.versionNotFound, `Version ${selector} not found in subject '${subject}'`);
    return selected;
  }

  #existing(subject: string, includeDeleted: boolean): SubjectDocument {
    this.#documents.store.refresh();
    const found = this.#subject(subject);
    if (found !== undefined && visible(found, includeDeleted).length > 0) return found;
    throw new RegistryFault(registryCodes.subjectNotFound, `Subject '${subject}' not found.`);
  }

  #registered(subject: string, { version, id }: VersionDocument): RegisteredSchema {
    return { id, subject, version, schema: this.schemaById(id), schemaType: 'AVRO' };
  }

  #subjects(): { subject: string; document: SubjectDocument }[] {
    const { store } = this.#documents;
    store.refresh();
    return [...readMeta<SubjectDocument>(store, 'registry', 'subject')].map(({ key, value }) => ({
      subject: key[2] as string,
      document: value,
    }));
  }

  #subject(subject: string): SubjectDocument | undefined {
    return this.#read<SubjectDocument>(['registry', 'subject', subject]);
  }

  #read<T>(key: (string | number)[], fresh = false): T | undefined {
    if (fresh) this.#documents.store.refresh();
    return this.#documents.store.meta.get(key) as T | undefined;
  }

  #change(key: (string | number)[], value: unknown, before: unknown): DocumentChange {
    return { key, value, expected: before === undefined ? null : JSON.stringify(before) };
  }

  /** Decides again as long as others are quicker; one of them has got ahead each time. */
  async #retry<T>(decide: () => { readonly result: T; readonly changes: readonly DocumentChange[] }): Promise<T> {
    for (;;) {
      this.#documents.store.refresh();
      const { result, changes } = decide();
      if (changes.length === 0 || (await this.#documents.change(changes))) return result;
    }
  }
}

function visible(document: SubjectDocument, includeDeleted: boolean): readonly VersionDocument[] {
  return includeDeleted ? document.versions : document.versions.filter(version => !version.deleted);
}

/** The text in one spelling, so that white space makes no new version. */
function parse(schema: string): { text: string; type: AvroType } {
  try {
    return { text: stringifyJson(parseJson(schema)), type: parseAvroSchema(schema) };
  } catch (error) {
    throw new RegistryFault(
      registryCodes.invalidSchema,
      `Invalid schema: ${error instanceof Error ? error.message : error}`,
    );
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

function checkLevel(level: string): CompatibilityLevel {
  const known = compatibilityLevels.find(name => name === level);
  if (known === undefined)
    throw new RegistryFault(
      registryCodes.invalidLevel,
      `Invalid compatibility level. Valid values are ${compatibilityLevels.join(', ')}`,
    );
  return known;
}
