/**
 * One TCP connection to one broker, by kafkajs: socket, TLS, SASL, request queue. Requests are answered in order of sending; a connection that broke, or on which a
 * request timed out, is closed for good, and its owner opens another.
 */
import './requestQueuePatch.ts';
import Connection, { type ApiVersions, type KafkajsLog } from 'kafkajs/src/network/connection.js';
import socketFactory from 'kafkajs/src/network/socketFactory.js';
import protocol, { type RequestDefinition } from 'kafkajs/src/protocol/requests/index.js';
import { ConnectError } from '../../../schemas/errors.ts';
import type { Logger } from '../../api/logger.ts';
import type { Address, ClientSettings } from './clientSettings.ts';
import type { KafkaApi } from './kafkaApis.ts';
import { ConnectionLost } from './kafkaErrors.ts';

export interface RawRequest {
  readonly apiKey: number;
  readonly apiName: string;
  readonly apiVersion: number;
  /** Body, in pieces that are written one after the other without being joined. */
  readonly body: readonly Buffer[];
  readonly expectResponse?: boolean;
  /** Raises the timeout for requests that wait on the broker. */
  readonly timeoutMs?: number;
}

const saslAuthenticateKey = 36;

export class KafkaConnection {
  readonly address: Address;
  readonly #connection: Connection;
  readonly #settings: ClientSettings;
  readonly #clientId: Buffer;
  #versions: ApiVersions = {};

  private constructor(settings: ClientSettings, address: Address, logger: Logger) {
    this.address = address;
    this.#settings = settings;
    this.#clientId = Buffer.from(settings.clientId);
    this.#connection = new Connection({
      ...address,
      ssl: settings.ssl,
      sasl: settings.sasl,
      clientId: settings.clientId,
      logger: quietLog(logger),
      socketFactory: socketFactory(),
      connectionTimeout: settings.connectTimeoutMs,
      requestTimeout: settings.requestTimeoutMs,
      enforceRequestTimeout: true,
      maxInFlightRequests: null,
    });
  }

  static async open(settings: ClientSettings, address: Address, logger: Logger): Promise<KafkaConnection> {
    const opened = new KafkaConnection(settings, address, logger);
    const connection = opened.#connection;
    try {
      await connection.connect();
      connection.socket?.setNoDelay(true);
      const apiVersions = protocol.requests.ApiVersions!.protocol({ version: 2 }) as () => Parameters<
        Connection['send']
      >[0];
      const answer = (await connection.send({
        ...apiVersions(),
        requestTimeout: settings.connectTimeoutMs,
      })) as { apiVersions: { apiKey: number; minVersion: number; maxVersion: number }[] };
      for (const { apiKey, minVersion, maxVersion } of answer.apiVersions)
        opened.#versions[apiKey] = { minVersion, maxVersion };
      connection.setVersions(opened.#versions);
      connection.setSupportAuthenticationProtocol(saslAuthenticateKey in opened.#versions);
      await connection.authenticate();
      return opened;
    } catch (error) {
      opened.close();
      throw openingError(error, address, settings);
    }
  }

  get isOpen(): boolean {
    return this.#connection.isConnected();
  }

  /** Sends one of kafkajs' own requests in the newest version that both sides know. Error codes inside the answer are the caller's. */
  async call<Args, Answer>(api: KafkaApi<Args, Answer>, args: Args, timeoutMs?: number): Promise<Answer> {
    const definition: RequestDefinition = protocol.requests[api.name]!;
    const known = this.#versions[api.key];
    const version = Math.min(Math.max(...definition.versions.map(Number)), known?.maxVersion ?? -1);
    if (known === undefined || version < known.minVersion)
      throw new ConnectError(
        'BROKER_REQUEST_FAILED',
        `The broker ${this.#where()} speaks no version of ${api.name} that this client knows.`,
      );
    const { request, response } = definition.protocol({ version })(args as never);
    const { buffer } = await request.encode();
    const { apiKey, apiName, apiVersion } = request;
    const payload = await this.exchange({ apiKey, apiName, apiVersion, body: [buffer], timeoutMs });
    return (await response.decode(payload)) as Answer;
  }

  /** Sends a request and resolves with the answer behind its header, or empty once it is written where none is expected. In the order of calls. */
  exchange(request: RawRequest): Promise<Buffer> {
    const connection = this.#connection;
    if (!connection.isConnected()) return Promise.reject(new ConnectionLost(`not connected to ${this.#where()}`));
    if (this.#settings.sasl !== null && !connection.isAuthenticated()) return this.#reauthenticated(request);
    return new Promise<Buffer>((resolve, reject) => {
      const correlationId = connection.nextCorrelationId();
      const fail = (error: Error): void => {
        // After a timeout the request may still be carried out: nothing must go out behind it on this connection.
        if (error.name === 'KafkaJSRequestTimeoutError') this.close();
        reject(new ConnectionLost(`${request.apiName} to ${this.#where()}: ${error.message}`, { cause: error }));
      };
      const { expectResponse = true } = request;
      connection.requestQueue.push({
        entry: {
          apiKey: request.apiKey,
          apiName: request.apiName,
          apiVersion: request.apiVersion,
          correlationId,
          resolve: ({ payload }) => {
            if (expectResponse) resolve(payload ?? Buffer.alloc(0));
          },
          reject: fail,
        },
        expectResponse,
        requestTimeout: request.timeoutMs === undefined ? null : request.timeoutMs + this.#settings.requestTimeoutMs,
        sendRequest: () =>
          this.#write(request, correlationId, error => {
            if (error) fail(error);
            else if (!expectResponse) resolve(Buffer.alloc(0));
          }),
      });
    });
  }

  close(): void {
    const connection = this.#connection;
    connection.rejectRequests(new Error('the connection was closed'));
    connection.socket?.destroy();
    connection.requestQueue.destroy();
    // Only sets the state: nothing is pending any more.
    connection.disconnect().catch(() => {});
  }

  #write(request: RawRequest, correlationId: number, written: (error?: Error | null) => void): void {
    const socket = this.#connection.socket!;
    const header = Buffer.allocUnsafe(14 + this.#clientId.length);
    let size = header.length - 4;
    for (const piece of request.body) size += piece.length;
    header.writeInt32BE(size, 0);
    header.writeInt16BE(request.apiKey, 4);
    header.writeInt16BE(request.apiVersion, 6);
    header.writeInt32BE(correlationId, 8);
    header.writeInt16BE(this.#clientId.length, 12);
    this.#clientId.copy(header, 14);
    socket.cork();
    socket.write(header);
    const last = request.body.length - 1;
    for (const [i, piece] of request.body.entries()) socket.write(piece, i === last ? written : undefined);
    socket.uncork();
  }

  /** The broker bounds how long a login lasts. kafkajs takes the next bytes for the login's answer, so all else must be answered first. */
  async #reauthenticated(request: RawRequest): Promise<Buffer> {
    await this.#connection.requestQueue.waitForPendingRequests();
    try {
      await this.#connection.authenticate();
    } catch (error) {
      this.close();
      throw openingError(error, this.address, this.#settings);
    }
    return this.exchange(request);
  }

  #where(): string {
    return `${this.address.host}:${this.address.port}`;
  }
}

function openingError(error: unknown, { host, port }: Address, settings: ClientSettings): Error {
  const { name, type, message } = error as { name?: string; type?: string; message?: string };
  if (
    name === 'KafkaJSSASLAuthenticationError' ||
    /^(SASL_AUTHENTICATION_FAILED|UNSUPPORTED_SASL_MECHANISM|ILLEGAL_SASL_STATE)$/.test(type ?? '')
  )
    return new ConnectError(
      'BROKER_AUTHENTICATION_FAILED',
      `${host}:${port} refused the login of ${settings.sasl?.username} by ${settings.sasl?.mechanism.toUpperCase()}: ${message}. Check sasl.mechanism and sasl.jaas.config.`,
      { cause: error },
    );
  if (/certificate|SSL|TLS|self.signed|altnames/i.test(message ?? ''))
    return new ConnectError(
      'BROKER_AUTHENTICATION_FAILED',
      `No TLS connection to ${host}:${port}: ${message}. Check security.protocol, ssl.truststore.* and ssl.keystore.*.`,
      { cause: error },
    );
  return new ConnectionLost(`${host}:${port}: ${message}`, { cause: error });
}

/** kafkajs logs as errors what is retried here; whoever gives up says so. */
function quietLog(logger: Logger): KafkajsLog {
  const log: KafkajsLog = {
    namespace: () => log,
    error: message => logger.debug({}, `kafkajs: ${message}`),
    warn: message => logger.debug({}, `kafkajs: ${message}`),
    info: () => {},
    debug: () => {},
  };
  return log;
}
