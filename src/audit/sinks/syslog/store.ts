import { spawn } from 'node:child_process';
import { createSocket, type Socket as Datagrams } from 'node:dgram';
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import { hostname } from 'node:os';
import { encodeOmittedLine, encodeSinkLine } from '../../sink-line.ts';
import type { FedRecord, Sink } from '../sink.ts';
import {
  encodeSyslogDatagram,
  encodeSyslogMessage,
  frameSyslogMessage,
  parseSyslogAddress,
  type SyslogHeader,
} from './message.ts';

/** What a UDP datagram over IPv4 can carry (RFC 768, RFC 791). */
const DATAGRAM_LIMIT = 65_507;
/** Longest message that `logger` is asked to take. */
const LOCAL_LIMIT = 65_536;
const CONNECT_MS = 10_000;
const LOCAL_MS = 30_000;
/** Bytes that are written at once. */
const PIECE = 65_536;
/** A server that has not read one of them for so long is left, and connected to anew. */
const WRITE_MS = 30_000;

/**
 * A syslog server (RFC 5424), reached as `address` says.
 *
 * @param write_ms how long a stream's server has to read what it is sent
 */
export function openSyslogSink(
  config: { address: string; facility: string; tag: string },
  write_ms: number = WRITE_MS,
): Sink {
  const header: SyslogHeader = { ...config, hostname: hostname(), pid: process.pid };
  const address = parseSyslogAddress('address', config.address);
  switch (address.transport) {
    case 'udp':
      return openUdp(header, address);
    case 'tcp':
      return openStream(address, write_ms, (records) =>
        records.map((one) => frameSyslogMessage(encodeSyslogMessage(header, one))).join(''),
      );
    case 'unix':
      return openLocal(header, address.path, write_ms);
  }
}

/** Lines over a TCP or unix stream connection, for a collector that wants no syslog around them. */
export function openSocketSink(target: NetConnectOpts, write_ms: number = WRITE_MS): Sink {
  return openStream(target, write_ms, (records) =>
    records.map((record) => `${encodeSinkLine(record)}\n`).join(''),
  );
}

function openUdp(header: SyslogHeader, { host, port }: { host: string; port: number }): Sink {
  let socket: Datagrams | undefined;
  const ending = new AbortController();
  const drop = (): void => {
    socket?.close();
    socket = undefined;
  };
  return {
    async put(records) {
      ending.signal.throwIfAborted();
      // Connected, so that a port where nobody listens is noticed at the next datagram.
      socket ??= await connectDatagrams({ host, port }, ending.signal);
      const sending = socket;
      try {
        for (const record of records) {
          ending.signal.throwIfAborted();
          const message = encodeSyslogDatagram(header, record, DATAGRAM_LIMIT);
          await new Promise<void>((resolve, reject) => {
            sending.send(message, (error) => (error ? reject(error) : resolve()));
          });
        }
      } catch (error) {
        drop();
        throw error;
      }
    },
    reopen: () => {},
    async close() {
      ending.abort();
      drop();
    },
  };
}

function connectDatagrams(
  { host, port }: { host: string; port: number },
  ending: AbortSignal,
): Promise<Datagrams> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    let isSettled = false;
    const end = (): void => void socket.close();
    const settle = (error?: Error): void => {
      isSettled = true;
      ending.removeEventListener('abort', end);
      if (error) reject(error);
      else resolve(socket);
    };
    ending.addEventListener('abort', end);
    socket.unref();
    socket.on('error', (error) => {
      if (isSettled) return;
      settle(error);
      socket.close();
    });
    // While the name is looked up nothing else tells of it.
    socket.once('close', () => settle(new Error('the sink was closed')));
    socket.connect(port, host, () => settle());
  });
}

/**
 * A stream has no acknowledgement (RFC 6587 §3.1): when a connection breaks, what was written to
 * it last may be lost, so it is written again to the next.
 */
function openStream(
  target: NetConnectOpts,
  write_ms: number,
  encode: (records: readonly FedRecord[]) => string,
): Sink {
  let socket: Socket | undefined;
  let last = '';
  const ending = new AbortController();
  const drop = (): void => {
    socket?.destroy();
    socket = undefined;
  };
  const send = async (to: Socket, text: string): Promise<void> => {
    try {
      // Piece by piece: a server that is slow, but reads, has as long as it takes.
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += PIECE) {
        await writeStream(to, bytes.subarray(at, at + PIECE), write_ms);
      }
    } catch (error) {
      // The next attempt connects anew.
      drop();
      throw error;
    }
  };
  return {
    async put(records) {
      ending.signal.throwIfAborted();
      if (!socket?.writable || socket.readableEnded) {
        drop();
        socket = await connectStream(target, ending.signal);
        if (last !== '') await send(socket, last);
      }
      const text = encode(records);
      await send(socket, text);
      last = text;
    },
    reopen: () => {},
    close: async () => {
      ending.abort();
      drop();
    },
  };
}

/** @param ending destroys the connection, at whatever point it is */
function connectStream(target: NetConnectOpts, ending: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...target, signal: ending });
    const timer = setTimeout(() => socket.destroy(new Error('no connection in time')), CONNECT_MS);
    socket.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.setKeepAlive(true, CONNECT_MS);
      // Nothing is to be read; reading on shows when the other side closes.
      socket.resume();
      socket.unref();
      resolve(socket);
    });
  });
}

function writeStream(socket: Socket, bytes: Uint8Array, write_ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = (): void => {
      clearTimeout(timer);
      reject(new Error('the connection was closed'));
    };
    const timer = setTimeout(() => reject(new Error('what was sent is not read')), write_ms);
    timer.unref();
    socket.once('close', ended);
    socket.write(bytes, (error) => {
      clearTimeout(timer);
      socket.off('close', ended);
      if (error) reject(error);
      else resolve();
    });
  });
}

/**
 * The machine's own log socket. Node.js speaks unix streams only and most such sockets take
 * datagrams: those are sent by the program `logger` (util-linux), which may wait in our place.
 */
function openLocal(header: SyslogHeader, path: string, write_ms: number): Sink {
  const stream = openStream({ path }, write_ms, (records) =>
    records.map((record) => `${encodeSyslogMessage(header, record)}\n`).join(''),
  );
  const ending = new AbortController();
  return {
    async put(records) {
      try {
        await stream.put(records);
      } catch (error) {
        const takesDatagrams = error instanceof Error && 'code' in error;
        if (!takesDatagrams || error.code !== 'EPROTOTYPE') throw error;
        ending.signal.throwIfAborted();
        await runLogger(header, path, { records, ending: ending.signal });
      }
    },
    reopen: () => {},
    async close() {
      ending.abort();
      await stream.close();
    },
  };
}

function runLogger(
  { facility, tag }: SyslogHeader,
  path: string,
  { records, ending }: { records: readonly FedRecord[]; ending: AbortSignal },
): Promise<void> {
  const lines = records.map((record) => {
    const line = encodeSinkLine(record);
    return Buffer.byteLength(line) <= LOCAL_LIMIT ? line : encodeOmittedLine(record);
  });
  const flags = ['--rfc5424', '--socket-errors=on', '--id', '--msgid', 'audit'];
  const target = ['--socket', path, '--size', `${LOCAL_LIMIT}`, '--priority', `${facility}.info`];
  return new Promise((resolve, reject) => {
    const child = spawn('logger', [...flags, ...target, '--tag', tag], {
      stdio: ['pipe', 'ignore', 'pipe'],
      timeout: LOCAL_MS,
      signal: ending,
    });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      if (said.length < 1000) said += chunk.toString();
    });
    child.on('error', reject);
    child.stdin.on('error', () => {});
    child.on('close', (code) => {
      // It goes on after a message that was not sent, and only says so.
      if (code === 0 && said === '') resolve();
      else reject(new Error(`logger ended with ${code}: ${said.trim()}`));
    });
    child.stdin.end(`${lines.join('\n')}\n`);
  });
}
