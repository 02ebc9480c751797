/** The parts of kafkajs 2.2.4 that are used by path. The version is pinned: its internals carry no promise. */

declare module 'kafkajs/src/network/connection.js' {
  import type { Socket } from 'node:net';
  import type { ConnectionOptions } from 'node:tls';

  export interface KafkajsLog {
    namespace(name: string): KafkajsLog;
    error(message: string, extra?: object): void;
    warn(message: string, extra?: object): void;
    info(message: string, extra?: object): void;
    debug(message: string, extra?: object): void;
  }
  export interface SaslOptions {
    mechanism: string;
    username: string;
    password: string;
  }
  export interface SocketArgs {
    host: string;
    port: number;
    ssl: ConnectionOptions | null;
    onConnect: () => void;
  }
  export interface QueueEntry {
    entry: {
      apiKey: number;
      apiName: string;
      apiVersion: number;
      correlationId: number;
      resolve(response: { payload: Buffer | null }): void;
      reject(error: Error): void;
    };
    expectResponse: boolean;
    requestTimeout: number | null;
    sendRequest(): void;
  }
  export interface KafkajsRequest {
    apiKey: number;
    apiName: string;
    apiVersion: number;
    expectResponse?: () => boolean;
    encode(): Promise<{ buffer: Buffer }>;
  }
  export interface Protocol {
    request: KafkajsRequest;
    response: { decode(payload: Buffer): Promise<unknown>; parse(decoded: unknown): Promise<unknown> };
  }
  export type ApiVersions = Record<number, { minVersion: number; maxVersion: number }>;

  export default class Connection {
    constructor(options: {
      host: string;
      port: number;
      ssl: ConnectionOptions | null;
      sasl: SaslOptions | null;
      clientId: string;
      logger: KafkajsLog;
      socketFactory: (args: SocketArgs) => Socket;
      connectionTimeout: number;
      requestTimeout: number;
      enforceRequestTimeout: boolean;
      maxInFlightRequests: number | null;
    });
    readonly socket: Socket | undefined;
    readonly requestQueue: { push(entry: QueueEntry): void; waitForPendingRequests(): Promise<void>; destroy(): void };
    connect(): Promise<boolean>;
    disconnect(): Promise<boolean>;
    isConnected(): boolean;
    isAuthenticated(): boolean;
    authenticate(): Promise<void>;
    setVersions(versions: ApiVersions): void;
    setSupportAuthenticationProtocol(supported: boolean): void;
    nextCorrelationId(): number;
    rejectRequests(error: Error): void;
    send(protocol: Protocol & { requestTimeout?: number; logResponseError?: boolean }): Promise<unknown>;
  }
}

declare module 'kafkajs/src/network/requestQueue/index.js' {
  export default class RequestQueue {
    readonly pending: readonly unknown[];
    readonly throttledUntil: number;
    throttleCheckTimeoutId: NodeJS.Timeout | null;
    checkPendingRequests(): void;
    scheduleCheckPendingRequests(): void;
  }
}

declare module 'kafkajs/src/network/socketFactory.js' {
  import type { Socket } from 'node:net';
  import type { SocketArgs } from 'kafkajs/src/network/connection.js';

  export default function socketFactory(): (args: SocketArgs) => Socket;
}

declare module 'kafkajs/src/protocol/requests/index.js' {
  import type { Protocol } from 'kafkajs/src/network/connection.js';

  export interface RequestDefinition {
    versions: readonly string[];
    protocol(options: { version: number }): (args: never) => Protocol;
  }
  const api: { requests: Record<string, RequestDefinition> };
  export default api;
}

declare module 'kafkajs/src/protocol/error.js' {
  const errors: { errorCodes: readonly { type: string; code: number; retriable: boolean; message: string }[] };
  export default errors;
}
