import type { Logger } from '../api/index.ts';
import { EmbeddedBroker } from './embedded/embeddedBroker.ts';
import { KafkaBroker } from './kafka/index.ts';
import type { Broker, BrokerSettings } from './port.ts';

/** Opens the broker that the settings name. */
export async function connectBroker(settings: BrokerSettings, logger: Logger): Promise<Broker> {
  switch (settings.kind) {
    case 'embedded':
      return EmbeddedBroker.open(settings.dataDir, logger, { flush: settings.flush });
    case 'kafka':
      return KafkaBroker.connect(settings.settings, logger);
  }
}
