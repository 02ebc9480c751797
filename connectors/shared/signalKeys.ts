/** Debezium's options for signals from topics and for notifications, alike for all sources. */
import type { Config, ConfigError, ConfigKeys, ConfigValues } from '../../runtime/api/index.ts';

const text = (documentation: string) => ({ type: 'STRING', default: null, importance: 'LOW', documentation }) as const;

export const signalKeys = {
  'signal.enabled.channels': {
    type: 'STRING',
    default: 'source',
    importance: 'MEDIUM',
    documentation: 'Where signals come from: source = the signal table, kafka = the topic signal.kafka.topic, or both.',
  },
  'signal.kafka.topic': text(
    'Topic whose records are signals: key = topic.prefix, value = JSON with type and data. Without it <topic.prefix>-signal. Read from the worker’s own cluster, partition 0.',
  ),
  'notification.enabled.channels': text(
    'Where the progress of snapshots is told: sink = the topic notification.sink.topic.name, log = the worker’s log, or both.',
  ),
  'notification.sink.topic.name': text('Topic of the notifications.'),
} as const satisfies ConfigKeys;

export interface SignalSettings {
  /** Whether rows of the signal table are signals. */
  readonly hasTable: boolean;
  /** Null = no topic is read. */
  readonly topic: string | null;
}

export interface NotificationSettings {
  /** Null = none. */
  readonly topic: string | null;
  readonly isLogged: boolean;
}

type Values = ConfigValues<typeof signalKeys>;

const listOf = (value: string | null): readonly string[] =>
  (value ?? '')
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '');

export function signalSettings(values: Values, prefix: string): SignalSettings {
  const channels = listOf(values['signal.enabled.channels']);
  return {
    hasTable: channels.includes('source'),
    topic: channels.includes('kafka') ? (values['signal.kafka.topic'] ?? `${prefix}-signal`) : null,
  };
}

export function notificationSettings(values: Values): NotificationSettings {
  const channels = listOf(values['notification.enabled.channels']);
  return {
    topic: channels.includes('sink') ? values['notification.sink.topic.name'] : null,
    isLogged: channels.includes('log'),
  };
}

export function signalKeyErrors(config: Config): readonly ConfigError[] {
  const errors: ConfigError[] = [];
  const check = (key: string, allowed: readonly string[]): void => {
    const others = listOf(config[key] ?? null).filter(channel => !allowed.includes(channel));
    if (others.length === 0) return;
    const message = `Invalid value ${config[key]} for configuration ${key}: ${others.join(', ')} is not supported, only ${allowed.join(' and ')}`;
    errors.push({ key, message });
  };
  check('signal.enabled.channels', ['source', 'kafka']);
  check('notification.enabled.channels', ['sink', 'log']);
  const isSinkEnabled = listOf(config['notification.enabled.channels'] ?? null).includes('sink');
  if (isSinkEnabled && (config['notification.sink.topic.name'] ?? '') === '') {
    const key = 'notification.sink.topic.name';
    errors.push({ key, message: `Missing required configuration ${key}: the channel sink needs it` });
  }
  return errors;
}
