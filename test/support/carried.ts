// Sessions of a running server that lead to an endpoint of the test's own, and their clients.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import {
  decodeAuthorizationToken,
  type SessionAuthorization,
} from '../../src/broker/sessions/authorization-token.ts';
import { openSessionStream, type SessionStream } from '../../src/worker/client/session-stream.ts';
import type { Call } from './seeded-broker.ts';
import { TOFU } from './session-client.ts';

interface Scope {
  after(end: () => void | Promise<void>): void;
}

/** A TCP server until the test is over. @returns its port */
export async function listenFor(scope: Scope, serve: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket.on('error', () => socket.destroy()));
    socket.once('close', () => sockets.delete(socket));
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  scope.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

export const echoTo = (socket: Socket): unknown => socket.pipe(socket);

let targets = 0;

/** Makes a target at a port of this machine. @returns its id */
export async function makeTarget(
  call: Call,
  default_port: number,
  fields: Record<string, unknown> = {},
): Promise<string> {
  const made = await call('POST', 'targets', {
    scope_id: 'p_1234567890',
    type: 'tcp',
    name: `carried ${targets++}`,
    address: '127.0.0.1',
    session_connection_limit: -1,
    attributes: { default_port },
    ...fields,
  });
  assert.equal(made.status, 200, made.text);
  return made.textAt('id');
}

/** A session, as its client has it. */
export interface Carried extends SessionAuthorization {
  /** Of its worker. */
  address: string;
  port: number;
}

export async function authorizeSession(call: Call, target_id: string): Promise<Carried> {
  const authorized = await call('POST', `targets/${target_id}:authorize-session`, {});
  assert.equal(authorized.status, 200, authorized.text);
  const session = decodeAuthorizationToken(authorized.textAt('authorization_token'));
  assert.ok(session);
  const [address = ''] = session.worker_addresses;
  return { ...session, address, port: Number(address.slice(address.lastIndexOf(':') + 1)) };
}

export const openStream = (session: Carried, tofu_token = TOFU): Promise<SessionStream> =>
  openSessionStream(session, session.address, tofu_token);

/** What comes back of what is sent. */
export async function askEcho({ stream }: SessionStream, text: string): Promise<string> {
  let heard = '';
  stream.write(text);
  for await (const piece of stream.iterator({ destroyOnReturn: false })) {
    heard += String(piece);
    if (heard.length >= text.length) break;
  }
  return heard;
}

/** When nothing comes any more, however it ended. */
export function untilClosed({ stream }: SessionStream): Promise<void> {
  stream.on('error', () => {});
  stream.resume();
  if (stream.closed || stream.readableEnded) return Promise.resolve();
  return new Promise((resolve) => {
    stream.once('end', resolve).once('close', () => resolve());
  });
}

export interface ShownConnection {
  bytes_up?: string;
  bytes_down?: string;
  closed_reason?: string;
}

interface ShownSession {
  status: string;
  termination_reason?: string;
  connections: ShownConnection[];
}

/** A session as it is shown once that is so. */
export async function readSessionWhen(
  call: Call,
  id: string,
  isSo: (session: ShownSession) => boolean,
): Promise<ShownSession> {
  for (;;) {
    const read = await call('GET', `sessions/${id}`);
    assert.equal(read.status, 200, read.text);
    const shown = { connections: [], ...(JSON.parse(read.text) as Partial<ShownSession>) };
    const session = { status: '', ...shown };
    if (isSo(session)) return session;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export const allClosed = ({ connections }: ShownSession): boolean =>
  connections.length > 0 && connections.every(({ closed_reason }) => closed_reason !== undefined);
