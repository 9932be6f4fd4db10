import assert from 'node:assert/strict';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import type { App } from '../../src/app/app.ts';
import { answerWatch } from '../../src/http/frame.ts';
import type { Place } from './engines.ts';
import { storageOf } from './seeded-broker.ts';
import { type Client, startTestServer } from './server.ts';

/** The system spreads connections among four threads: of so many none is left out, but for once in ten thousand times. */
export const CONNECTIONS = 40;

interface Answered {
  status: number;
  body: string;
  bytes: Buffer;
  headers: IncomingHttpHeaders;
}

/** JSON unless it is bytes. */
type Sent = object | Uint8Array;

type Scope = { after(stop: () => void | Promise<void>): void };

/** Connections that stay open, to all threads of a server. */
export class Everywhere {
  readonly #port: number;
  readonly #agents = Array.from(
    { length: CONNECTIONS },
    () => new Agent({ keepAlive: true, maxSockets: 1 }),
  );

  constructor(test: Scope, { url }: Pick<Client, 'url'>) {
    this.#port = Number(new URL(url).port);
    test.after(() => {
      for (const agent of this.#agents) agent.destroy();
    });
  }

  /** The same request by each connection. @returns the statuses, each once */
  async statuses(method: string, path: string, body?: Sent, token = 'root'): Promise<number[]> {
    const replies = await this.ask(method, path, body, token);
    return [...new Set(replies.map(({ status }) => status))].sort();
  }

  /** The same request by each connection. */
  ask(method: string, path: string, body?: Sent, token = 'root'): Promise<Answered[]> {
    return Promise.all(
      this.#agents.map((agent) => this.#ask(agent, method, path, { body, token })),
    );
  }

  /** By one connection; another number may be another one. */
  askOne(
    number: number,
    method: string,
    path: string,
    body?: Sent,
    token = 'root',
  ): Promise<Answered> {
    const agent = this.#agents[number % CONNECTIONS] as Agent;
    return this.#ask(agent, method, path, { body, token });
  }

  #ask(
    agent: Agent,
    method: string,
    path: string,
    { body, token }: { body: Sent | undefined; token: string },
  ): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const options = { agent, port: this.#port, method, path: `/v1/${path}` };
      const headers = token === '' ? {} : { 'x-vault-token': token };
      const asked = request({ ...options, headers }, (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.once('end', () => {
          const bytes = Buffer.concat(pieces);
          const { statusCode: status = 0, headers } = response;
          resolve({ status, body: bytes.toString(), bytes, headers });
        });
        response.once('error', reject);
      });
      asked.once('error', reject);
      if (body === undefined || body instanceof Uint8Array) asked.end(body);
      else asked.end(JSON.stringify(body));
    });
  }
}

/** Endpoints of the requests that the supervising thread answers from now on, handed on by others. */
export function watchHandedOn(app: App): string[] {
  const handed: string[] = [];
  const watch = answerWatch(app);
  const { see } = watch;
  watch.see = (route, answer) => {
    handed.push(route?.id ?? '');
    return see ? see(route, answer) : answer;
  };
  return handed;
}

export const THREADS = 4;

/** A server with several threads that answer, an authority and a role, and connections to all of the threads. */
export async function startThreads(test: Scope, place: Place) {
  const client = await startTestServer(test, {
    config: { threads: THREADS, storage: storageOf(place) },
    jobs: [],
  });
  const { call } = client;
  await call('POST', 'sys/mounts/pki', { type: 'pki' });
  await call('POST', 'pki/root/generate/internal', { common_name: 'Root', key_type: 'ec' });
  await call('POST', 'pki/roles/web', { allow_any_name: true, key_type: 'ec' });
  return { ...client, everywhere: new Everywhere(test, client) };
}

export const ISSUE = { common_name: 'www.example.com', ttl: '1h' };

/** A request that all threads are asked, and the endpoint by whose name it is handed on; none: each answers it. */
export type WhoAnswers = readonly [
  method: string,
  path: string,
  body?: Sent | undefined,
  route?: string,
];

/** Each case succeeds wherever it is asked, and is handed on where it says so, and only there. */
export async function assertWhoAnswers(
  everywhere: Everywhere,
  handed: string[],
  cases: readonly WhoAnswers[],
): Promise<void> {
  for (const [method, path, body, route] of cases) {
    handed.length = 0;
    const statuses = await everywhere.statuses(method, path, body);
    assert.ok(
      statuses.every((status) => status === 200 || status === 204),
      `${path}: ${statuses}`,
    );
    assert.deepEqual([...new Set(handed)], route ? [route] : [], path);
  }
}
