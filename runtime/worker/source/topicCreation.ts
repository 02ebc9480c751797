/** The `topic.creation.*` rules of a source connector: which settings a missing topic is created with. */
import { type Config, ConnectError } from '../../api/index.ts';
import type { TopicSpec } from '../../broker/port.ts';
import { withPrefix } from '../../config/workerConfig.ts';

interface Group {
  readonly matches: (topic: string) => boolean;
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly replicationFactorKey?: string;
  readonly configs: Readonly<Record<string, string>>;
}

const prefix = 'topic.creation.';

export class TopicCreationRules {
  readonly #groups: readonly Group[];

  private constructor(groups: readonly Group[]) {
    this.#groups = groups;
  }

  /** Without rules, topics take the broker's defaults. */
  static fromConfig(config: Config, enabled: boolean): TopicCreationRules {
    const brokerDefault = { matches: () => true, partitions: -1, replicationFactor: -1, configs: {} };
    const defaults = withPrefix(config, `${prefix}default.`);
    if (!enabled || Object.keys(defaults).length === 0) return new TopicCreationRules([brokerDefault]);
    const names = split(config[`${prefix}groups`]).filter(name => name !== 'default');
    const groups = names.map(name => parseGroup(name, withPrefix(config, `${prefix}${name}.`), defaults));
    return new TopicCreationRules([...groups, { ...parseGroup('default', defaults, defaults), matches: () => true }]);
  }

  /** The first group that takes the topic decides. */
  specFor(topic: string): TopicSpec {
    const { matches: _, ...spec } = this.#groups.find(group => group.matches(topic))!;
    return { name: topic, ...spec };
  }
}

function parseGroup(name: string, own: Config, defaults: Config): Group {
  const { include, exclude, partitions, 'replication.factor': replicationFactor, ...configs } = own;
  const included = patterns(`${prefix}${name}.include`, include);
  const replicationFactorKey = `${prefix}${replicationFactor === undefined ? 'default' : name}.replication.factor`;
  const excluded = patterns(`${prefix}${name}.exclude`, exclude);
  return {
    matches: topic => included.some(p => p.test(topic)) && !excluded.some(p => p.test(topic)),
    partitions: positive(`${prefix}${name}.partitions`, partitions ?? defaults.partitions),
    replicationFactor: positive(replicationFactorKey, replicationFactor ?? defaults['replication.factor']),
    replicationFactorKey,
    configs,
  };
}

function patterns(key: string, text: string | undefined): RegExp[] {
  return split(text).map(pattern => {
    try {
      return new RegExp(`^(?:${pattern})$`);
    } catch (error) {
      throw new ConnectError('CONFIG_INVALID', `Invalid value ${pattern} for configuration ${key}: ${String(error)}`);
    }
  });
}

function positive(key: string, text: string | undefined): number {
  if (text === undefined) {
    throw new ConnectError('CONFIG_INVALID', `Missing required configuration "${key}" which has no default value.`);
  }
  const value = Number(text);
  if (!Number.isInteger(value) || value < -1 || value === 0) {
    throw new ConnectError(
      'CONFIG_INVALID',
      `Invalid value ${text} for configuration ${key}: it must be a positive number, or -1 for the broker's default`,
    );
  }
  return value;
}

const split = (text: string | undefined): string[] =>
  (text ?? '')
    .split(',')
    .map(s => s.trim())
    .filter(s => s !== '');
