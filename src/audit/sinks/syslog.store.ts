import { spawn } from 'node:child_process';
import { createSocket, type Socket as Datagrams } from 'node:dgram';
import type { NetConnectOpts } from 'node:net';
import { hostname } from 'node:os';
import { parseSyslogAddress } from '../../config/syslog.ts';
import { encodeOmittedLine, encodeSinkLine } from '../sink-line.ts';
import type { FedRecord, Sink } from './sink.ts';
import { openStream, WRITE_MS } from './stream.store.ts';
import {
  encodeSyslogDatagram,
  encodeSyslogMessage,
  frameSyslogMessage,
  type SyslogHeader,
} from './syslog-message.ts';
import { createUnread, ON_ITS_WAY_MS } from './unread.ts';

/** What a UDP datagram over IPv4 can carry (RFC 768, RFC 791). */
const DATAGRAM_LIMIT = 65_507;
/** Longest message that `logger` is asked to take. */
const LOCAL_LIMIT = 65_536;
const LOCAL_MS = 30_000;

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
      return openStream(address, { write_ms }, (records) =>
        records.map((one) => frameSyslogMessage(encodeSyslogMessage(header, one))).join(''),
      );
    case 'unix':
      return openLocal(header, address.path, write_ms);
  }
}

/** Lines over a TCP or unix stream connection, for a collector that wants no syslog around them. */
export function openSocketSink(target: NetConnectOpts, write_ms: number = WRITE_MS): Sink {
  return openStream(target, { write_ms }, (records) =>
    records.map((record) => `${encodeSinkLine(record)}\n`).join(''),
  );
}

/**
 * Datagrams are not confirmed. That nobody takes them is told by the other system at best, and some time after they
 * were sent: those of the last seconds are put again then.
 */
function openUdp(header: SyslogHeader, { host, port }: { host: string; port: number }): Sink {
  let socket: Datagrams | undefined;
  let failed: Error | undefined;
  const unread = createUnread(ON_ITS_WAY_MS);
  const ending = new AbortController();
  const drop = (): void => {
    socket?.close();
    socket = undefined;
    failed = undefined;
    unread.forget();
  };
  const findBreak = (): Error | undefined => {
    const found = failed;
    if (found) drop();
    return found;
  };
  const fail = (error: Error, of: Datagrams): void => {
    if (socket === of) failed = error;
  };
  return {
    async put(records) {
      ending.signal.throwIfAborted();
      const found = findBreak();
      if (found) throw found;
      // Connected, so that the system tells where nobody listens.
      socket ??= await connectDatagrams({ host, port }, { ending: ending.signal, fail });
      const sending = socket;
      try {
        for (const record of records) {
          ending.signal.throwIfAborted();
          const message = encodeSyslogDatagram(header, record, DATAGRAM_LIMIT);
          await new Promise<void>((resolve, reject) => {
            sending.send(message, (error) => (error ? reject(error) : resolve()));
          });
          unread.add(record.seq, message.length);
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
    reading: {
      sure: unread.sure,
      findBreak,
      // Nothing more could be learnt of them.
      finish: async () => {
        if (!failed) unread.settleAll();
      },
    },
  };
}

/** @param fail is told what the system says of a socket between two datagrams, which it says once */
function connectDatagrams(
  { host, port }: { host: string; port: number },
  { ending, fail }: { ending: AbortSignal; fail(error: Error, of: Datagrams): void },
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
      if (isSettled) return fail(error, socket);
      settle(error);
      socket.close();
    });
    // While the name is looked up nothing else tells of it.
    socket.once('close', () => settle(new Error('the sink was closed')));
    socket.connect(port, host, () => settle());
  });
}

/**
 * The machine's own log socket. Node.js speaks unix streams only and most such sockets take
 * datagrams: those are sent by the program `logger` (util-linux), which may wait in our place.
 */
function openLocal(header: SyslogHeader, path: string, write_ms: number): Sink {
  const unread = createUnread();
  const stream = openStream({ path }, { write_ms, unread }, (records) =>
    records.map((record) => `${encodeSyslogMessage(header, record)}\n`).join(''),
  );
  const ending = new AbortController();
  const send = async (records: readonly FedRecord[]): Promise<void> => {
    ending.signal.throwIfAborted();
    try {
      const bytes = await runLogger(header, path, { records, ending: ending.signal });
      unread.add(records.at(-1)?.seq ?? 0, bytes);
    } catch (error) {
      // What its queue held went with a log server that is gone.
      unread.forget();
      throw error;
    }
  };
  return {
    ...stream,
    async put(records) {
      try {
        await stream.put(records);
      } catch (error) {
        const takesDatagrams = error instanceof Error && 'code' in error;
        if (!takesDatagrams || error.code !== 'EPROTOTYPE') {
          unread.forget();
          throw error;
        }
        await send(records);
      }
    },
    async close() {
      ending.abort();
      await stream.close();
    },
  };
}

/** @returns the bytes that it was given */
function runLogger(
  { facility, tag }: SyslogHeader,
  path: string,
  { records, ending }: { records: readonly FedRecord[]; ending: AbortSignal },
): Promise<number> {
  const lines = records.map((record) => {
    const line = encodeSinkLine(record);
    return Buffer.byteLength(line) <= LOCAL_LIMIT ? line : encodeOmittedLine(record);
  });
  const flags = ['--rfc5424', '--socket-errors=on', '--id', '--msgid', 'audit'];
  const text = `${lines.join('\n')}\n`;
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
      if (code === 0 && said === '') resolve(Buffer.byteLength(text));
      else reject(new Error(`logger ended with ${code}: ${said.trim()}`));
    });
    child.stdin.end(text);
  });
}
