/** Error codes of Kafka's protocol, and how failures of the connection and of requests become ConnectErrors. */
import kafkajsErrors from 'kafkajs/src/protocol/error.js';
import type { ErrorCode } from '../../../schemas/errorCodes.ts';
import { ConnectError, type ErrorPlace } from '../../../schemas/errors.ts';

/** The codes that the client acts upon. */
export const kafkaCode = {
  none: 0,
  offsetOutOfRange: 1,
  corruptMessage: 2,
  unknownTopicOrPartition: 3,
  leaderNotAvailable: 5,
  notLeaderOrFollower: 6,
  messageTooLarge: 10,
  coordinatorLoadInProgress: 14,
  coordinatorNotAvailable: 15,
  notCoordinator: 16,
  invalidTopic: 17,
  recordListTooLarge: 18,
  illegalGeneration: 22,
  inconsistentGroupProtocol: 23,
  unknownMemberId: 25,
  rebalanceInProgress: 27,
  groupAuthorizationFailed: 30,
  topicAlreadyExists: 36,
  invalidReplicationFactor: 38,
  notController: 41,
  outOfOrderSequence: 45,
  duplicateSequence: 46,
  invalidProducerEpoch: 47,
  invalidTxnState: 48,
  invalidProducerIdMapping: 49,
  concurrentTransactions: 51,
  unknownProducerId: 59,
  nonEmptyGroup: 68,
  groupIdNotFound: 69,
  fencedLeaderEpoch: 74,
  unknownLeaderEpoch: 75,
  offsetNotAvailable: 78,
  memberIdRequired: 79,
  fencedInstanceId: 82,
  groupSubscribedToTopic: 86,
  producerFenced: 90,
} as const;

/** What kafkajs' table lacks or has otherwise than brokers of today. */
const names: Readonly<Record<number, string>> = {
  81: 'GROUP_MAX_SIZE_REACHED',
  82: 'FENCED_INSTANCE_ID',
  89: 'THROTTLING_QUOTA_EXCEEDED',
  90: 'PRODUCER_FENCED',
  91: 'RESOURCE_NOT_FOUND',
  100: 'UNKNOWN_TOPIC_ID',
  120: 'TRANSACTION_ABORTABLE',
};
/** Trouble that passes: leaders and coordinators that move or load, brokers that are behind or busy. */
const retriable: ReadonlySet<number> = new Set([
  3, 5, 6, 7, 8, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 72, 74, 75, 78, 79, 88, 89, 100, 103,
]);

export function kafkaErrorName(code: number): string {
  return names[code] ?? kafkajsErrors.errorCodes.find(e => e.code === code)?.type ?? `error code ${code}`;
}

export function isRetriableCode(code: number): boolean {
  return retriable.has(code);
}

/** A producer that may write no more: another took over, or the broker has ended its transaction, or forgotten it. */
export function isFencedCode(code: number): boolean {
  return codeOf(code) === 'BROKER_PRODUCER_FENCED';
}

/** A request that a broker answered with an error. */
export function requestFailed(
  what: string,
  code: number,
  options: { text?: string | null; place?: ErrorPlace } = {},
): ConnectError {
  const why = options.text ? `${kafkaErrorName(code)}, ${options.text}` : kafkaErrorName(code);
  return new ConnectError(codeOf(code), `${what}: the broker answered ${why}.${adviceFor(code)}`, {
    retriable: isRetriableCode(code),
    place: options.place,
  });
}

function codeOf(code: number): ErrorCode {
  switch (code) {
    case kafkaCode.unknownTopicOrPartition:
      return 'BROKER_TOPIC_UNKNOWN';
    case kafkaCode.nonEmptyGroup:
    case kafkaCode.groupSubscribedToTopic:
      return 'BROKER_GROUP_NOT_EMPTY';
    case kafkaCode.inconsistentGroupProtocol:
      return 'BROKER_GROUP_INCONSISTENT';
    case kafkaCode.illegalGeneration:
    case kafkaCode.unknownMemberId:
    case kafkaCode.rebalanceInProgress:
    case kafkaCode.fencedInstanceId:
      return 'BROKER_GROUP_MEMBER_LOST';
    case kafkaCode.invalidProducerEpoch:
    case kafkaCode.invalidTxnState:
    case kafkaCode.invalidProducerIdMapping:
    case kafkaCode.producerFenced:
      return 'BROKER_PRODUCER_FENCED';
    case kafkaCode.corruptMessage:
      return 'BROKER_CORRUPT_BATCH';
    default:
      return isUnauthorized(code) ? 'BROKER_NOT_AUTHORIZED' : 'BROKER_REQUEST_FAILED';
  }
}

function isUnauthorized(code: number): boolean {
  return kafkaErrorName(code).endsWith('AUTHORIZATION_FAILED');
}

function adviceFor(code: number): string {
  if (isUnauthorized(code)) return ' Grant the permission (ACL) to the user of this client, or use other credentials.';
  if (code === kafkaCode.inconsistentGroupProtocol)
    return ' Choose another group id, or give all members one partition.assignment.strategy in common.';
  return '';
}

/** The connection broke, or a broker did not answer in time: whether the request was carried out is not known. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}

/** Whether an error of this folder may pass by itself. */
export function isTransient(error: unknown): boolean {
  return error instanceof ConnectionLost || (error instanceof ConnectError && error.retriable);
}
