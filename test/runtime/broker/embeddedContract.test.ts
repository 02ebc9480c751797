import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { EmbeddedBroker } from '../../../runtime/broker/embedded/embeddedBroker.ts';
import { brokerContract } from '../../contract/brokerContract.ts';
import { quietLogger } from './embedded/embeddedTools.ts';

const dataDir = await mkdtemp(join(tmpdir(), 'millrace-contract-'));
after(() => rm(dataDir, { recursive: true, force: true }));

brokerContract('embedded', () => EmbeddedBroker.open(dataDir, quietLogger));
