/** Requests to other workers of the cluster: over TLS where their listeners are, by the keys of this worker's own. */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { clientTls } from '../config/restTls.ts';
import type { WorkerConfig } from '../config/workerConfig.ts';

export interface WorkerRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
  readonly signal: AbortSignal;
}

export interface WorkerAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

export class WorkerClient {
  readonly #config: Pick<WorkerConfig, 'raw'>;
  #http: HttpAgent | null = null;
  #https: HttpsAgent | null = null;

  constructor(config: Pick<WorkerConfig, 'raw'>) {
    this.#config = config;
  }

  /** Resolves with any status; rejects where there is no answer, or the signal is aborted. */
  request(url: string | URL, { method, headers, body, signal }: WorkerRequest): Promise<WorkerAnswer> {
    const target = new URL(url);
    const isHttps = target.protocol === 'https:';
    const agent = isHttps ? this.#httpsAgent() : (this.#http ??= new HttpAgent({ keepAlive: false }));
    return new Promise((resolve, reject) => {
      const options = { method, headers: { ...headers, 'content-length': String(body?.length ?? 0) }, agent, signal };
      const sent = (isHttps ? httpsRequest : httpRequest)(target, options, answer => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({ status: answer.statusCode!, headers: answer.headers, text });
        });
      });
      sent.on('error', reject);
      sent.end(body ?? undefined);
    });
  }

  #httpsAgent(): HttpsAgent {
    this.#https ??= new HttpsAgent({ keepAlive: false, ...clientTls(this.#config) });
    return this.#https;
  }
}
