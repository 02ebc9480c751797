/**
 * The schema registry beside the embedded broker, in the same store. It connects when it is first used. `EmbeddedRegistry.reader` works in other processes,
 * beside the worker, and refuses to register.
 */
import { resolve as resolvePath } from 'node:path';
import { ConnectError } from '../../../schemas/errors.ts';
import type { RegisteredSchema, SchemaRegistry } from '../../../schemas/registry/schemaRegistry.ts';
import type { Logger } from '../../api/logger.ts';
import { connectLog } from './logClient.ts';
import { RegistryFault, registryCodes } from './registryFault.ts';
import { RegistryStore } from './registryStore.ts';
import { openStore, storeExists } from './store.ts';

export class EmbeddedRegistry implements SchemaRegistry {
  readonly #connect: () => Promise<RegistryStore>;
  #connection: Promise<RegistryStore> | null = null;
  /** By subject and schema. Ids never change their schema. */
  readonly #registered = new Map<string, number>();
  readonly #texts = new Map<number, string>();

  static open(dataDir: string, logger: Logger): EmbeddedRegistry {
    return new EmbeddedRegistry(async () => {
      const client = await connectLog(dataDir, logger, {});
      return new RegistryStore({
        store: client.store,
        change: changes => client.call('changeDocuments', { changes }),
        close: () => client.release(),
      });
    });
  }

  static reader(dataDir: string): EmbeddedRegistry {
    return new EmbeddedRegistry(async () => {
      const dir = resolvePath(dataDir);
      if (!storeExists(dir))
        throw new ConnectError('BROKER_STORE_FAILED', `There is no embedded schema registry in ${dir}.`);
      const store = openStore(dir, true);
      const refuse = () =>
        Promise.reject(
          new ConnectError(
            'BROKER_READ_ONLY',
            `The schema registry in ${dir} is opened for reading beside its worker.`,
          ),
        );
      return new RegistryStore({ store, change: refuse, close: () => store.close() });
    });
  }

  private constructor(connect: () => Promise<RegistryStore>) {
    this.#connect = connect;
  }

  async register(subject: string, schema: string): Promise<number> {
    const key = `${subject}\n${schema}`;
    const known = this.#registered.get(key);
    if (known !== undefined) return known;
    const store = await this.store();
    const { id } = await translated(subject, () => store.register(subject, schema));
    this.#registered.set(key, id);
    return id;
  }

  async lookup(subject: string, schema: string): Promise<number> {
    const store = await this.store();
    return (await translated(subject, () => store.find(subject, schema))).id;
  }

  async latest(subject: string): Promise<RegisteredSchema> {
    const store = await this.store();
    return translated(subject, () => store.version(subject, 'latest'));
  }

  async schemaById(id: number): Promise<string> {
    const known = this.#texts.get(id);
    if (known !== undefined) return known;
    const store = await this.store();
    const text = await translated(null, () => store.schemaById(id));
    this.#texts.set(id, text);
    return text;
  }

  /** All that the port leaves out, for the REST API. */
  store(): Promise<RegistryStore> {
    this.#connection ??= this.#connect().catch(error => {
      this.#connection = null;
      throw error;
    });
    return this.#connection;
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = null;
    if (connection !== null) await (await connection).close();
  }
}

async function translated<T>(subject: string | null, run: () => Promise<T> | T): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof RegistryFault)) throw error;
    switch (error.code) {
      case registryCodes.incompatible:
        throw new ConnectError(
          'REGISTRY_INCOMPATIBLE',
          `the embedded registry refused the new schema of subject ${subject}: ${error.message}. Set the compatibility level of the subject to one that allows it (PUT /config/${encodeURIComponent(subject ?? '')} below /registry of the worker), or write to a new topic (topic.prefix, or a RegexRouter transform), and restart the task; no change is lost`,
          { cause: error },
        );
      case registryCodes.invalidSchema:
        throw new ConnectError('CONVERTER_FAILED', `subject ${subject}: ${error.message}`, { cause: error });
      default:
        throw new ConnectError('REGISTRY_SCHEMA_UNKNOWN', `${error.message} (embedded registry)`, { cause: error });
    }
  }
}
