/**
 * mysql2's connection taken over once it is logged in: the log and result sets are read as they come, in large pieces. The driver keeps what is done once,
 * login and TLS, and would make an object of each packet. Under TLS its socket is not to be had: bytes are taken where the driver would parse them.
 */
import { Duplex } from 'node:stream';
import type { Connection } from 'mysql2/promise';
import { ConnectError } from '../../../runtime/api/index.ts';
import { RawStream } from '../../shared/rawStream.ts';

/** What is used of mysql2 and its types leave out; checked when it is used. */
interface DriverCore {
  readonly stream: Duplex;
  readonly config: { readonly ssl?: unknown };
  packetParser: { execute(piece: Buffer): void };
  write(bytes: Buffer): void;
}

const closed = (): Error =>
  new ConnectError('MYSQL_UNREACHABLE', 'the server closed the connection', { retriable: true });

export interface TakenStream {
  readonly stream: RawStream;
  /** Gives the connection back to the driver; it must be idle again. */
  release(): void;
}

/** The connection must be idle. `isReused`: see RawStream. */
export function takeStream(connection: Connection, isReused: boolean): TakenStream {
  const { connection: core } = connection as unknown as { connection: DriverCore };
  const { packetParser } = core;
  const socket = core.config.ssl ? decrypted(core) : core.stream;
  const stream = new RawStream(socket, { isReused, closed });
  return {
    stream,
    release: () => {
      stream.release();
      core.packetParser = packetParser;
    },
  };
}

/** The plain side of the driver's TLS connection. The socket below stops while nobody reads, and with it the server. */
function decrypted(core: DriverCore): Duplex {
  const { stream } = core;
  const plain = new Duplex({
    read: () => stream.resume(),
    write: (bytes, _encoding, done) => {
      core.write(bytes);
      done();
    },
    destroy: (error, done) => {
      stream.destroy();
      done(error);
    },
  });
  core.packetParser = {
    execute: piece => {
      if (!plain.push(piece)) stream.pause();
    },
  };
  stream.once('error', error => plain.destroy(error));
  stream.once('close', () => plain.destroy());
  return plain;
}
