import { KafkaBroker } from '../../../runtime/broker/kafka/index.ts';
import { brokerContract } from '../../contract/brokerContract.ts';
import { quietLogger } from './embedded/embeddedTools.ts';

const bootstrap = process.env.KAFKA_BOOTSTRAP ?? '127.0.0.1:9092';
const connect = (servers: string) => () => KafkaBroker.connect({ 'bootstrap.servers': servers }, quietLogger);

brokerContract('kafka', connect(bootstrap));

const bootstrap39 = process.env.KAFKA39_BOOTSTRAP;
if (bootstrap39 !== undefined) brokerContract('kafka 3.9', connect(bootstrap39));
