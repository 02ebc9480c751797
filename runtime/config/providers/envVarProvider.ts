import { type Config, type ConfigData, type ConfigProvider, ConnectError, configDef } from '../../api/index.ts';

export const envVarProviderDef = configDef({
  'allowlist.pattern': {
    type: 'STRING',
    default: '.*',
    importance: 'LOW',
    documentation: 'Pattern that the whole name of a variable must match to be read.',
  },
});

/** EnvVarConfigProvider: `${env:NAME}`, from the worker's own environment. */
export class EnvVarConfigProvider implements ConfigProvider {
  #allowed = /^.*$/;

  configure(config: Config): void {
    const pattern = envVarProviderDef.parse(config).values['allowlist.pattern'];
    try {
      this.#allowed = new RegExp(`^(?:${pattern})$`);
    } catch (error) {
      throw new ConnectError('CONFIG_INVALID', `allowlist.pattern is not a valid regular expression: ${pattern}`, {
        cause: error,
      });
    }
  }

  async get(path: string, keys: readonly string[]): Promise<ConfigData> {
    if (path !== '') {
      throw new ConnectError(
        'CONFIG_PROVIDER_FAILED',
        `environment variables have no path, but the placeholder names "${path}"`,
      );
    }
    const found = new Map<string, string>();
    for (const key of keys) {
      const value = process.env[key];
      if (value !== undefined && this.#allowed.test(key)) found.set(key, value);
    }
    return { values: found };
  }
}
