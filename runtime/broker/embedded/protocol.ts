/**
 * What the threads of a process ask of the log thread, and what it tells them. Messages go over BroadcastChannels, which exist per process: no port has
 * to be handed to a thread. Requests have one listener, each client's replies one; commits are told to all.
 */
import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import type { PartitionOffset, TopicSpec } from '../port.ts';

export interface ProducerIdentity {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly epoch: number;
}

export interface AppendEntry {
  readonly topic: string;
  readonly partition: number;
  /** Where the sealed batch is in the shared bytes. */
  readonly start: number;
  readonly end: number;
}

export type Subscription = { readonly topics: readonly string[] } | { readonly pattern: RegExp };

export interface GroupAssignment {
  readonly generation: number;
  readonly partitions: readonly { readonly topic: string; readonly partition: number }[];
}

export interface DocumentChange {
  readonly key: (string | number)[];
  /** JSON text that must be there now; null = must be absent; undefined = whatever. */
  readonly expected?: string | null;
  /** undefined = only check. */
  readonly value?: unknown;
}

export interface Operations {
  append: {
    request: {
      readonly producer: ProducerIdentity | null;
      readonly bytes: SharedArrayBuffer;
      readonly entries: readonly AppendEntry[];
    };
    result: readonly number[];
  };
  initTransactions: {
    request: { readonly transactionalId: string; readonly timeoutMs: number };
    result: ProducerIdentity;
  };
  sendOffsets: {
    request: {
      readonly producer: ProducerIdentity;
      readonly groupId: string;
      readonly offsets: readonly PartitionOffset[];
    };
    result: undefined;
  };
  endTransaction: { request: { readonly producer: ProducerIdentity; readonly commit: boolean }; result: undefined };
  createTopics: { request: { readonly specs: readonly TopicSpec[] }; result: readonly string[] };
  deleteTopics: { request: { readonly names: readonly string[] }; result: undefined };
  commitOffsets: {
    request: {
      readonly groupId: string;
      /** null: the caller is no member; then the group must be empty. */
      readonly member: { readonly memberId: string; readonly generation: number } | null;
      readonly offsets: readonly PartitionOffset[];
    };
    result: undefined;
  };
  deleteGroupOffsets: {
    request: {
      readonly groupId: string;
      readonly partitions: readonly { readonly topic: string; readonly partition: number }[] | 'all';
    };
    result: undefined;
  };
  /** All or nothing; false: something expected was not there. */
  changeDocuments: { request: { readonly changes: readonly DocumentChange[] }; result: boolean };
  /** Answered when all members have joined. */
  joinGroup: {
    request: {
      readonly groupId: string;
      readonly memberId: string;
      readonly subscription: Subscription;
      readonly rebalanceTimeoutMs: number;
      readonly sessionTimeoutMs: number;
    };
    result: GroupAssignment;
  };
  leaveGroup: { request: { readonly groupId: string; readonly memberId: string }; result: undefined };
  hello: { request: object; result: undefined };
}

export type OperationName = keyof Operations;
export type RequestOf<N extends OperationName> = Operations[N]['request'];
export type ResultOf<N extends OperationName> = Operations[N]['result'];

/** Of one thread; begins with `clientIdPrefix`. */
export const clientIdPrefix = (threadId: number): string => `${threadId}-`;

export interface RequestMessage {
  readonly clientId: string;
  readonly id: number;
  /** `threadEnded`: the request is the id of a thread that says no `bye` any more. */
  readonly name: OperationName | 'ping' | 'bye' | 'threadEnded';
  readonly request: unknown;
}

export type ClientMessage =
  | { readonly kind: 'reply'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'error'; readonly id: number; readonly error: WireError }
  /** The member has to join again. */
  | { readonly kind: 'rebalance'; readonly memberId: string };

/** Told to every client. */
export type NoticeMessage =
  | { readonly kind: 'commit'; readonly topics: readonly string[] }
  | { readonly kind: 'ended'; readonly reason: string };

export interface WireError {
  readonly code: string;
  readonly message: string;
  readonly retriable: boolean;
  readonly place: object;
}

/** Clients say that they live this often. */
export const pingIntervalMs = 1000;

export function channelNames(dataDir: string): { requests: string; notices: string; client(id: string): string } {
  const base = `millrace:${createHash('sha256').update(realpathSync(dataDir)).digest('base64url')}`;
  return { requests: `${base}:requests`, notices: `${base}:notices`, client: id => `${base}:client:${id}` };
}
