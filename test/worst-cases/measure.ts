import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isWithin, measurePace } from '../support/machine.ts';

/** Longest that one request may hold the event loop, in milliseconds of processor time. */
export const LONGEST_PAUSE_MS = 50;

/** One request. */
export interface Sent {
  method: string;
  /** With `/v1/`, and the query. */
  target: string;
  headers: Readonly<Record<string, string>>;
  body?: Uint8Array;
}

export interface Answered {
  status: number;
  text: string;
}

/** A server whose event loop is watched. */
export interface Watched {
  /** Of its port, by plain HTTP. */
  readonly url: string;
  readonly port: number;
  readonly directory: string;
  send(sent: Sent): Promise<Answered>;
  /** The longest pause of the loop since this was asked last, in milliseconds. */
  takeLongest(): Promise<number>;
  /** Bytes of its heap that are in use once what is not has been let go. */
  takeHeap(): Promise<number>;
  /** The most memory that the process has had, in bytes. */
  takePeak(): Promise<number>;
  /** Holds the server's loop. */
  hold(milliseconds: number): Promise<void>;
  /** Whether the process has ended. */
  lost(): boolean;
  stop(): Promise<void>;
}

/**
 * Starts a server in a process with as little memory as a small machine gives it.
 *
 * @param tls files of a certificate and its key; without them it speaks plain HTTP
 */
export async function startWatched(...tls: [] | [cert: string, key: string]): Promise<Watched> {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-worst-'));
  const args = [join(directory, 'data'), ...tls];
  const child = fork(join(import.meta.dirname, 'server.ts'), args, {
    execArgv: [
      '--max-old-space-size=512',
      '--expose-gc',
      '--import',
      './test/support/compiled-once.ts',
    ],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const closed = once(child, 'close');
  const { port } = await ask<{ port: number }>(child);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    directory,
    url: `http://127.0.0.1:${port}`,
    port,
    send: (sent) => sendOver(agent, port, sent),
    takeLongest: async () => (await ask<{ longest: number }>(child, { ask: 'longest' })).longest,
    takeHeap: async () => (await ask<{ heap: number }>(child, { ask: 'heap' })).heap,
    takePeak: async () => (await ask<{ peak: number }>(child, { ask: 'peak' })).peak,
    hold: async (milliseconds) => {
      await ask(child, { hold: milliseconds });
    },
    lost: () => child.exitCode !== null || child.signalCode !== null,
    async stop() {
      agent.destroy();
      child.kill();
      await closed;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function ask<Reply>(child: ChildProcess, message?: object): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const gone = (): void => reject(new Error('the server is gone'));
    child.once('exit', gone);
    child.once('message', (reply: unknown) => {
      child.off('exit', gone);
      resolve(reply as Reply);
    });
    if (message) child.send(message);
  });
}

function sendOver(agent: Agent, port: number, sent: Sent): Promise<Answered> {
  const { method, target, headers, body } = sent;
  return new Promise((resolve, reject) => {
    let answered = false;
    const outgoing = request(
      {
        agent,
        port,
        host: '127.0.0.1',
        method,
        path: target,
        headers: { ...headers, ...(body ? { 'content-length': String(body.length) } : {}) },
      },
      (response) => {
        answered = true;
        const chunks: Buffer[] = [];
        const done = (): void =>
          resolve({
            status: response.statusCode ?? 0,
            text: Buffer.concat(chunks).toString('utf8', 0, 2_000),
          });
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', done);
        // A server that has refused a body does not read it to its end.
        response.on('error', done);
      },
    );
    outgoing.on('error', (error) => {
      if (!answered) reject(error);
    });
    outgoing.end(body);
  });
}

/** What came of a request that was measured. */
export interface Measured extends Answered {
  /** Milliseconds. */
  pause: number;
  isTooLong: boolean;
}

/** How often a long pause is looked at again: only what every time is long counts. */
const ATTEMPTS = 3;

/** Longer than a pause may be, and by more than the machine is slow just now. */
export const isTooLong = (pause: number): boolean =>
  pause >= LONGEST_PAUSE_MS && !isWithin(pause, LONGEST_PAUSE_MS, measurePace());

/** Sends a request, and more than once where it seems to hold the loop. */
export async function measure(server: Watched, sent: Sent): Promise<Measured> {
  let best: Measured | undefined;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    await server.takeLongest();
    const answered = await server.send(sent);
    const pause = await server.takeLongest();
    if (!best || pause < best.pause) best = { ...answered, pause, isTooLong: isTooLong(pause) };
    if (!best.isTooLong) break;
  }
  if (!best) throw new TypeError('a request is sent at least once');
  return best;
}
