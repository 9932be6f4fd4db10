/** Servers and workers that stand alone, each a process of its own, and clients of sessions through them. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { decodeAuthorizationToken } from '../../src/broker/sessions/authorization-token.ts';
import { openSessionStream } from '../../src/worker/client/session-stream.ts';
import { makeProject, type Project } from './broker.ts';
import { sqlitePlace } from './engines.ts';
import { freePort } from './free-port.ts';
import {
  initialiseNode,
  type NodeProcess,
  type NodeSettings,
  newDirectory,
  type Scope,
  settingsOf,
  startNodeProcess,
} from './node-process.ts';
import type { Reply } from './server.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');

/** Asks again and again. @throws what the last attempt said */
export async function eventually<Value>(
  attempt: () => Promise<Value>,
  within_ms: number,
): Promise<Value> {
  const until = performance.now() + within_ms;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > until) throw error;
      await wait(100);
    }
  }
}

/** Where sessions lead to: sends back what it gets. */
export const startEcho = (test: Scope): Promise<Endpoint> =>
  startEndpoint(test, (socket) => socket.pipe(socket));

export interface Endpoint {
  port: number;
  /** All that are open. */
  sockets: Set<Socket>;
}

/** @param serve what it does with each connection; errors are seen to */
export async function startEndpoint(
  test: Scope,
  serve: (socket: Socket) => void,
  host = '127.0.0.1',
): Promise<Endpoint> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
    serve(socket);
  }).listen(0, host);
  await once(server, 'listening');
  test.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, sockets };
}

/** A server that workers may come to, and somebody who administers it. */
export interface CarryingServer {
  /** Of its listener for workers. */
  worker_address: string;
  project: Project;
  /** As somebody who repairs. */
  call(method: string, path: string, body?: unknown): Promise<Reply>;
  /** As the administrator. */
  ask(method: string, path: string, body?: unknown): Promise<Reply>;
  kill(): Promise<void>;
  start(): Promise<void>;
  log(): string;
}

/** @param options where it keeps everything, if not at a place of its own, and where workers come to */
export async function startCarryingServer(
  test: Scope,
  options: { storing?: NodeSettings; host?: string; local_buckets?: string } = {},
): Promise<CarryingServer> {
  const { storing = ownSettings(test), host = '127.0.0.1', local_buckets } = options;
  const worker_address = `${host}:${await freePort(host)}`;
  const settings = {
    ...storing,
    ...(local_buckets === undefined ? {} : { storage_buckets: { local_folders: [local_buckets] } }),
    worker_listener: { address: worker_address, public_address: worker_address },
  };
  let node: NodeProcess = await startNodeProcess(test, settings);
  const token = await initialiseNode(node);
  const call: CarryingServer['call'] = (...request) => node.as(token)(...request);
  const project = await makeProject({
    call: (method, path, body, options) => node.as(token)(method, path, body, options),
  });
  return {
    worker_address,
    project,
    call,
    ask: async (...request) => {
      const reply = await project.admin.call(...request);
      assert.ok(reply.status < 300, `${request[1]}: ${reply.text}`);
      return reply;
    },
    kill: () => node.kill(),
    log: () => node.log(),
    start: async () => {
      node = await startNodeProcess(test, settings);
    },
  };
}

/** In a place of its own. */
export function ownSettings(test: Scope): NodeSettings {
  const place = sqlitePlace();
  test.after(() => place.remove());
  return settingsOf(place, newDirectory(test));
}

/** A worker in a process of its own. */
export interface WorkerProcess {
  /** Of its configuration. */
  state: string;
  /** Resolves with its exit code. */
  ended: Promise<number | null>;
  /** What it has printed, and what it has logged. */
  output(): string;
  log(): string;
  kill(signal?: NodeJS.Signals): Promise<void>;
}

export interface WorkerSettings {
  servers: readonly string[];
  state: string;
  name?: string;
  listener?: { address: string } | null;
  tags?: Readonly<Record<string, readonly string[]>>;
}

/**
 * Starts one; it is killed with the test.
 *
 * @param within what its command begins with, where it is not to run as this process does
 */
export function startWorkerProcess(
  test: Scope,
  settings: WorkerSettings,
  activation_token?: string,
  within: readonly string[] = [],
): WorkerProcess {
  const file = join(newDirectory(test), 'worker.json');
  const listener = { address: '127.0.0.1:0' };
  const given = activation_token === undefined ? {} : { activation_token: 'env://TOKEN' };
  writeFileSync(file, JSON.stringify({ listener, ...given, ...settings }));
  const [program = '', ...args] = [...within, process.execPath, MAIN, 'worker', '-config', file];
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, ...(activation_token ? { TOKEN: activation_token } : {}) },
  });
  let output = '';
  let log = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const ended = once(child, 'close').then(() => child.exitCode);
  const kill = async (signal: NodeJS.Signals = 'SIGKILL') => {
    child.kill(signal);
    await ended;
  };
  test.after(() => kill());
  return { state: settings.state, ended, output: () => output, log: () => log, kill };
}

/** Waits until a worker is there, by what the server says of it. */
export async function awaitWorker(server: CarryingServer, id: string): Promise<void> {
  await eventually(async () => {
    const { text } = await server.call('GET', `workers/${id}`);
    assert.match(text, /"release_version"/, 'the worker has come');
    // What other requests know of workers is a second old at most.
    await wait(1_000);
  }, 20_000);
}

/** Makes a worker that is expected, and starts it. */
export async function addWorker(
  test: Scope,
  server: CarryingServer,
  settings: Partial<WorkerSettings> & { name: string },
  within: readonly string[] = [],
): Promise<{ id: string; worker: WorkerProcess; token: string }> {
  const { name } = settings;
  const made = await server.call('POST', 'workers:create:controller-led', {
    scope_id: 'global',
    name,
  });
  assert.equal(made.status, 200, made.text);
  const token = made.textAt('controller_generated_activation_token');
  const id = made.textAt('id');
  const state = newDirectory(test);
  const whole = { servers: [server.worker_address], state, ...settings };
  const worker = startWorkerProcess(test, whole, token, within);
  await awaitWorker(server, id).catch((error: unknown) => {
    throw new Error(`${worker.output()}${worker.log()}`, { cause: error });
  });
  return { id, worker, token };
}

let targets = 0;

export async function addTarget(server: CarryingServer, fields: object): Promise<string> {
  targets += 1;
  const made = await server.ask('POST', 'targets', {
    scope_id: server.project.id,
    type: 'tcp',
    name: `target-${targets}`,
    address: '127.0.0.1',
    ...fields,
  });
  return made.textAt('id');
}

/** A session's client: opens as many connections as are asked for. */
export interface SessionClient {
  id: string;
  worker_addresses: readonly string[];
  /** @param through which of its workers; the first */
  open(through?: string): Promise<Duplex>;
}

const TOFU = 'abcdefghij0123456789';

export async function beginSession(server: CarryingServer, target: string): Promise<SessionClient> {
  const made = await server.ask('POST', `targets/${target}:authorize-session`, {});
  const authorization = decodeAuthorizationToken(made.textAt('authorization_token'));
  assert.ok(authorization);
  const { worker_addresses } = authorization;
  return {
    id: authorization.session_id,
    worker_addresses,
    open: async (through) => {
      const address = through ?? worker_addresses[0] ?? '';
      return (await openSessionStream(authorization, address, TOFU)).stream;
    },
  };
}

/** Sends a text and waits for it to come back. */
export async function echo(stream: Duplex, text: string): Promise<void> {
  stream.write(text);
  let got = '';
  while (got.length < text.length) {
    const [bytes] = (await once(stream, 'data', { signal: AbortSignal.timeout(10_000) })) as [
      Buffer,
    ];
    got += bytes.toString();
  }
  assert.equal(got, text);
}

/** Resolves when a stream is over, however it ends. */
export function overOf(stream: Duplex): Promise<void> {
  stream.on('error', () => {});
  stream.resume();
  return new Promise((resolve) => stream.once('close', () => resolve()));
}

/** The connections of a session, as they are told. */
export async function connectionsOf(
  server: CarryingServer,
  session_id: string,
): Promise<{ bytes_up?: string; bytes_down?: string; closed_reason?: string }[]> {
  const read = await server.ask('GET', `sessions/${session_id}`);
  return (read.field('connections') ?? []) as object[];
}
