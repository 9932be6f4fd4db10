import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { App } from '../../src/app/app.ts';
import { isItemField } from '../../src/broker/resource/grants/fields.ts';
import { readScopeTree, scopeOf } from '../../src/broker/resource/scope-tree/operations.ts';
import { listOfType } from '../../src/broker/resource/store.ts';
import { type Config, devConfig } from '../../src/config/config.ts';
import { answerWatch } from '../../src/http/frame.ts';
import { type Overrides, type Running, startServer } from '../../src/start/server.ts';
import { watchAnswer } from './declared-answers.ts';
import { onOneThread, TEST_THREADS } from './threads.ts';

/** An answer as it came. */
export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  bytes: Uint8Array;
  /** The JSON value at a dotted path, e.g. `data.certificate`; undefined where there is none. */
  field(path: string): unknown;
  /** The same as text; the empty text where there is none. */
  textAt(path: string): string;
}

export interface Client {
  readonly url: string;
  readonly running: Running;
  /** @param body sent as JSON; `token: ''` sends none */
  call(
    method: string,
    path: string,
    body?: unknown,
    options?: { token?: string; headers?: Record<string, string> },
  ): Promise<Reply>;
}

/** Starts a development server on a directory and port of its own, stopped with the test, or, given
 *  `{ after }` of `node:test`, with the file.
 *  @param options.on_one why one thread answers also where the run has several */
export async function startTestServer(
  test: { after(stop: () => Promise<void>): void },
  options: { directory?: string; config?: Partial<Config>; on_one?: string } & Overrides = {},
): Promise<Client> {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), 'gatehouse-'));
  const running = await startServer(
    {
      ...devConfig({
        data: directory,
        listen: '127.0.0.1:0',
        proxy_listen: '127.0.0.1:0',
        root_token: 'root',
      }),
      log_level: 'silent',
      threads: threadsFor(options),
      ...options.config,
    },
    options,
  );
  const requireDeclared = watchAnswers(running.app);
  test.after(async () => {
    try {
      await requireKnownScopes(running.app);
      requireDeclared();
    } finally {
      await running.stop();
      if (options.directory === undefined) rmSync(directory, { recursive: true, force: true });
    }
  });
  const url = `http://127.0.0.1:${running.address.port}`;
  const call = callOver(url, 'root');
  return {
    url,
    running,
    async call(...request) {
      const reply = await call(...request);
      requireDeclared();
      return reply;
    },
  };
}

function threadsFor({ now, store, log, on_one }: Overrides & { on_one?: string }): number {
  if (on_one) return onOneThread(on_one);
  if (now) return onOneThread("a clock of the test's own");
  if (store) return onOneThread('what stands between the server and its store');
  if (log) return onOneThread("a log of the test's own");
  return TEST_THREADS;
}

/** @returns throws where an answer since was not as its endpoint declares it */
function watchAnswers(app: App): () => void {
  const faults = new Set<string>();
  answerWatch(app).see = (route, answer) =>
    watchAnswer(route, answer, (fault) => faults.add(fault));
  return () => {
    const told = [...faults];
    faults.clear();
    assert.deepEqual(told, [], 'answers are as their endpoints declare them');
  };
}

/**
 * Requests to the server at an address.
 *
 * @param ownToken sent where a request names none
 */
export function callOver(url: string, ownToken: string): Client['call'] {
  return async (method, path, body, { token = ownToken, headers = {} } = {}) => {
    // fetch has no verb LIST of its own; servers take `?list=true` as the same.
    const list = method === 'LIST' ? `${path.includes('?') ? '&' : '?'}list=true` : '';
    const response = await fetch(`${url}/v1/${path}${list}`, {
      method: method === 'LIST' ? 'GET' : method,
      headers: {
        ...(token === '' ? {} : { 'x-vault-token': token }),
        ...(method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {}),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body) }),
    });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const text = Buffer.from(bytes).toString('utf8');
    const isJson = response.headers.get('content-type') === 'application/json' && text !== '';
    const value: unknown = isJson ? JSON.parse(text) : undefined;
    const field = (path: string): unknown => walk(value, path.split('.'));
    requireKnownFields(value);
    return {
      status: response.status,
      headers: response.headers,
      text,
      bytes,
      field,
      textAt: (path) => String(field(path) ?? ''),
    };
  };
}

/** Grants tell the fields of the broker's items by a table, which knows all that there are. */
function requireKnownFields(answer: unknown): void {
  const listed = walk(answer, ['items']);
  for (const item of [answer, ...(Array.isArray(listed) ? listed : [])]) {
    if (walk(item, ['authorized_actions']) === undefined) continue;
    assert.deepEqual(
      Object.keys(Object(item)).filter((name) => !isItemField(name)),
      [],
      'fields that src/broker/resource/grants/fields.ts knows',
    );
  }
}

function walk(value: unknown, path: readonly string[]): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return value;
  if (typeof value !== 'object' || value === null) return undefined;
  return walk(Reflect.get(value, first), rest);
}

/** Most scopes that are compared: some tests make tens of thousands. */
const FEW_SCOPES = 1_000;

/**
 * Scopes are kept in memory, and read anew one by one as changes of them are noted. Whatever a test did,
 * a server knows them as the database has them in the end.
 */
async function requireKnownScopes(app: App): Promise<void> {
  if (app.barrier.sealed) return;
  const tree = await Promise.resolve(readScopeTree(app)).catch(() => undefined);
  if (!tree || tree.byId.size > FEW_SCOPES) return;
  const stored = await listOfType(app.db, 'scope', scopeOf);
  const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1);
  const known = [...tree.byId.values()].sort(byId);
  assert.deepEqual(known, stored.sort(byId), 'scopes are known as they are stored');
}
