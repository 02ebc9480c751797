/** The REST API of a worker, for commands: where it is, who asks, and errors as a user reads them. */
import { ConnectError } from '../api/index.ts';
import { type WorkerAnswer, WorkerClient } from '../herder/workerClient.ts';
import { option } from './flags.ts';

export const restFlags = {
  url: { type: 'string' },
  user: { type: 'string' },
  ca: { type: 'string' },
  json: { type: 'boolean' },
} as const;

export const restFlagsHelp = [
  option('--url <url>', 'Address of a worker [http://127.0.0.1:8083, or MILLRACE_URL].'),
  option(
    '--user <name:password>',
    'For basic authentication [MILLRACE_USER, which others cannot see as they can a flag].',
  ),
  option('--ca <file>', 'Certificates (PEM) to trust with https, beside those of the system.'),
  option('--json', 'Writes the answers of the worker as they are.'),
].join('\n');

export const exitCodesHelp =
  'exit codes: 0 done, 1 refused or not possible, 2 wrong command line, 3 something shown has failed';
export const exitFailed = 3;

const timeoutMs = 100_000;

export class RestClient {
  readonly url: string;
  readonly #user: string | null;
  readonly #client: WorkerClient;

  constructor(values: Readonly<Record<string, string | boolean | undefined>>, environment: NodeJS.ProcessEnv) {
    const text = (name: 'url' | 'user' | 'ca'): string | null =>
      typeof values[name] === 'string' ? (values[name] as string) : null;
    const url = text('url') ?? environment.MILLRACE_URL ?? 'http://127.0.0.1:8083';
    if (!/^https?:\/\/[^/\s]/.test(url) || !URL.canParse(url)) {
      throw new ConnectError('CLI_USAGE', `--url ${url}: expected an address such as http://127.0.0.1:8083`);
    }
    this.url = url.replace(/\/+$/, '');
    this.#user = text('user') ?? environment.MILLRACE_USER ?? null;
    const ca = text('ca');
    this.#client = new WorkerClient({ raw: ca === null ? {} : { 'ssl.truststore.location': ca } });
  }

  /** The parsed answer, or null where it has no body. Rejects with CLI_REQUEST_FAILED for what the worker refuses. */
  async request<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.#send(method, path, body);
    if (answer.status >= 400) {
      throw new ConnectError(
        'CLI_REQUEST_FAILED',
        `${method} ${this.url}${path} answered ${answer.status}: ${reason(answer)}`,
      );
    }
    return (answer.text === '' ? null : JSON.parse(answer.text)) as T;
  }

  /** null for what is not there. */
  async find<T>(path: string): Promise<T | null> {
    const answer = await this.#send('GET', path);
    if (answer.status === 404) return null;
    if (answer.status < 400) return JSON.parse(answer.text) as T;
    throw new ConnectError('CLI_REQUEST_FAILED', `GET ${this.url}${path} answered ${answer.status}: ${reason(answer)}`);
  }

  async #send(method: string, path: string, body?: unknown): Promise<WorkerAnswer> {
    const headers: Record<string, string> = { accept: 'application/json' };
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (this.#user !== null) headers.authorization = `Basic ${Buffer.from(this.#user).toString('base64')}`;
    try {
      return await this.#client.request(this.url + path, {
        method,
        headers,
        body: body === undefined ? null : Buffer.from(JSON.stringify(body)),
        signal: AbortSignal.timeout(timeoutMs),
      });
    } catch (error) {
      if (error instanceof ConnectError) throw error;
      throw new ConnectError(
        'CLI_REQUEST_FAILED',
        `no worker answers at ${this.url}: ${(error as Error).message || (error as { code?: string }).code}; start one, or name another by --url`,
        { cause: error },
      );
    }
  }
}

function reason({ text }: WorkerAnswer): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return typeof message === 'string' ? message : text;
  } catch {
    return text;
  }
}
