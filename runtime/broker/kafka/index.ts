export { KafkaBroker } from './kafkaBroker.ts';
