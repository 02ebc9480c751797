/** Checks of a configuration that need no connection, for all topics that have keys of their own. */
import type { Config, ConfigError } from '../../runtime/api/index.ts';
import { misspeltKeys } from '../shared/misspeltKeys.ts';
import { sinkConfigDef, sinkKeys } from './configKeys.ts';
import { mongoOptions } from './connection.ts';
import { configOf, isOverride, overriddenTopics, splitOverride } from './topicOverrides.ts';
import { type TopicSettings, topicSettings } from './topicSettings.ts';

const SPELLINGS = Object.entries(sinkKeys).flatMap(([name, key]) => [name, ...('aliases' in key ? key.aliases : [])]);
const REFUSED = Object.entries(sinkKeys).filter(([, { documentation }]) => documentation.startsWith('Refused: '));

/** Everything that can be said without a connection. */
export function checkSinkConfig(config: Config): readonly ConfigError[] {
  const { values, errors } = sinkConfigDef.parse(config);
  const found = [...errors, ...misspeltKeys(config, SPELLINGS, isOverride), ...refusedKeys(config)];
  for (const key of Object.keys(config).filter(isOverride))
    if (splitOverride(key) === null)
      found.push({ key, message: `Unknown configuration ${key}: it names no key that a topic can have of its own` });
  if (errors.length > 0) return found;
  found.push(...topicSettings(values).errors, ...toleranceErrors(config, values['mongo.errors.tolerance']));
  for (const topic of overriddenTopics(config)) {
    const own = sinkConfigDef.parse(configOf(config, topic));
    const problems = own.errors.length > 0 ? own.errors : topicSettings(own.values).errors;
    for (const { key, message } of problems) {
      const name = `topic.override.${topic}.${key}`;
      found.push(config[name] === undefined ? { key, message } : { key: name, message: `${message} (${name})` });
    }
  }
  const uri = mongoOptions(values);
  if ('problem' in uri) found.push({ key: uri.key, message: uri.problem });
  return unique(found);
}

function refusedKeys(config: Config): ConfigError[] {
  return REFUSED.filter(([key]) => !['', 'false', undefined].includes(config[key])).map(([key, { documentation }]) => ({
    key,
    message: `Invalid configuration ${key}: not supported here; ${documentation.slice('Refused: '.length)}`,
  }));
}

/** The worker reports, or fails, by its own key: the other one can only say the same. */
function toleranceErrors(config: Config, tolerance: string | null): ConfigError[] {
  if (tolerance === null) return [];
  const [wanted, is] = [tolerance.toLowerCase() === 'none' ? 'none' : 'all', config['errors.tolerance'] ?? 'none'];
  if (wanted === is) return [];
  return [
    {
      key: 'mongo.errors.tolerance',
      message: `Invalid value ${tolerance} for configuration mongo.errors.tolerance: errors.tolerance is ${is} and decides; set it to ${wanted}, or remove mongo.errors.tolerance`,
    },
  ];
}

const unique = (errors: readonly ConfigError[]): ConfigError[] =>
  errors.filter(({ key, message }, i) => errors.findIndex(e => e.key === key && e.message === message) === i);

/** The settings of each topic, made when its first records come. */
export class TopicList {
  readonly #config: Config;
  readonly #byTopic = new Map<string, TopicSettings>();

  constructor(config: Config) {
    this.#config = config;
  }

  /** Whether any of them needs images from before changes. */
  get needsBefore(): boolean {
    return [...overriddenTopics(this.#config), ''].some(topic => this.of(topic).hasHandler);
  }

  of(topic: string): TopicSettings {
    let settings = this.#byTopic.get(topic);
    if (settings === undefined) {
      settings = topicSettings(sinkConfigDef.parse(configOf(this.#config, topic)).values).settings;
      this.#byTopic.set(topic, settings);
    }
    return settings;
  }
}
