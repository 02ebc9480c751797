import type { Logger } from '../api/index.ts';
import type { Broker, BrokerSettings } from './port.ts';

/** Opens the broker that the settings name; only that one's code is loaded. */
export async function connectBroker(settings: BrokerSettings, logger: Logger): Promise<Broker> {
  switch (settings.kind) {
    case 'embedded': {
      const { EmbeddedBroker } = await import('./embedded/embeddedBroker.ts');
      return EmbeddedBroker.open(settings.dataDir, logger, { flush: settings.flush });
    }
    case 'kafka': {
      const { KafkaBroker } = await import('./kafka/index.ts');
      return KafkaBroker.connect(settings.settings, logger);
    }
  }
}
