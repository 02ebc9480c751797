/**
 * Damaged segments at the connector: the stream over a folder in which one segment has flipped bits, is cut off, or has stretches of another one. Whatever
 * comes of it is an error with a code, a wait, or events; never another exception, an endless loop, or a change in what earlier segments gave.
 */
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { SourceOffset } from '../../../runtime/api/index.ts';
import { ConnectError } from '../../../schemas/errors.ts';
import { FIXTURE_VERSIONS, fixtureSegments } from './fixtureSegments.ts';
import { FixtureStream } from './fixtureStream.ts';
import { randomFrom } from './shopLoad.ts';

const HEADER_BYTES = 48;
/** Of the processor: a machine that is busy with something else proves nothing. */
const MAX_CPU_MS = 5000;
const SEGMENTS = 8;

interface Known {
  readonly whole: FixtureStream;
  readonly originals: readonly Buffer[];
  /** By segment: where a reader stands before it. */
  readonly before: readonly (SourceOffset | null)[];
}

export interface FuzzResult {
  readonly errors: number;
  readonly waits: number;
  readonly events: number;
}

export async function fuzzStream(mutations: number, seed: number): Promise<FuzzResult> {
  const random = randomFrom(seed);
  const known = await Promise.all(FIXTURE_VERSIONS.map(readWhole));
  const result = { errors: 0, waits: 0, events: 0 };
  try {
    for (let n = 0; n < mutations; n++) {
      const { whole, originals, before } = known[random(known.length)]!;
      const segment = random(SEGMENTS);
      const damaged = damage(originals[segment]!, originals[random(SEGMENTS)]!, random);
      const path = join(whole.folder, basename(fixtureSegments(whole.version)[segment]!));
      writeFileSync(path, damaged);
      const begun = process.cpuUsage();
      const rest = new FixtureStream(whole.version, whole.folder);
      try {
        await rest.open(before[segment]!, {}, whole.positions);
        await rest.drain();
        if (rest.isBehind(SEGMENTS)) result.waits++;
      } catch (error) {
        assert.ok(error instanceof ConnectError, `mutation ${n} of seed ${seed}: ${(error as Error).stack}`);
        // A value that no schema has room for is told where it is encoded.
        assert.match(error.code, /^FB_|^TRANSCODE_ROW_INVALID$/, `mutation ${n} of seed ${seed}: ${error.stack}`);
        result.errors++;
      } finally {
        await rest.stream?.close();
        copyFileSync(fixtureSegments(whole.version)[segment]!, path);
      }
      result.events += rest.changes.length;
      assert.ok(rest.changes.length <= damaged.length + 100_000, `mutation ${n} of seed ${seed}: too many events`);
      const { user, system } = process.cpuUsage(begun);
      const cpuMs = (user + system) / 1000;
      assert.ok(cpuMs < MAX_CPU_MS, `mutation ${n} of seed ${seed} took ${cpuMs} ms of the processor`);
    }
  } finally {
    for (const { whole } of known) await whole.close();
  }
  return result;
}

async function readWhole(version: (typeof FIXTURE_VERSIONS)[number]): Promise<Known> {
  const whole = new FixtureStream(version);
  const before: (SourceOffset | null)[] = [];
  await whole.open(null);
  for (let i = 0; i < SEGMENTS; i++) {
    before.push(whole.offsets.at(-1)?.offset ?? null);
    whole.add(i, i + 1);
    await whole.drain();
  }
  return { whole, originals: fixtureSegments(version).map(path => readFileSync(path)), before };
}

function damage(original: Buffer, other: Buffer, random: (below: number) => number): Buffer {
  const bytes = Buffer.from(original);
  switch (random(10)) {
    case 0:
      return bytes.subarray(0, random(bytes.length));
    case 1: {
      // Cut off, and its header says so too.
      const cut = bytes.subarray(0, HEADER_BYTES + random(bytes.length - HEADER_BYTES));
      cut.writeBigUInt64LE(BigInt(cut.length), 40);
      return cut;
    }
    case 2: {
      const from = random(other.length);
      other.copy(bytes, random(bytes.length), from, from + random(400));
      return bytes;
    }
    default:
      for (let i = random(4); i >= 0; i--) {
        const at = random(3) === 0 ? random(Math.min(200, bytes.length)) : random(bytes.length);
        if (random(2) === 0) bytes[at]! ^= 1 << random(8);
        else bytes[at] = random(256);
      }
      return bytes;
  }
}
