import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { SEED_DEFAULTS } from '../../src/config/seed.ts';
import { type Ask, CLI_WALK, SHAPES, type Step, WALK_SSH_KEY } from '../support/cli-walk.ts';
import { eachPlace, type Place } from '../support/engines.ts';
import { type Client, type Reply, startTestServer } from '../support/server.ts';

/** Somebody's walk through the commands: their token, and what earlier answers brought. */
interface Walk {
  server: Client;
  tokens: Record<NonNullable<Step['as']>, string>;
  saved: Map<string, string>;
}

/** Asks as the command line does: its headers on every request, of whatever method. */
function ask(walk: Walk, as: Step['as'], request: Pick<Ask, 'method' | 'path' | 'body'>) {
  return walk.server.call(request.method, request.path, request.body, {
    token: '',
    headers: {
      authorization: `Bearer ${walk.tokens[as ?? 'admin']}`,
      'content-type': 'application/json',
    },
  });
}

async function start(t: TestContext, place: Place): Promise<Walk> {
  const config = { seed: SEED_DEFAULTS };
  const options = place.options('local');
  const server = await startTestServer(
    t,
    options.engine === 'sqlite'
      ? { config }
      : { config: { ...config, storage: { ...options, type: 'postgres', node_name: 'local' } } },
  );
  const walk: Walk = {
    server,
    tokens: { admin: '', user: '', nobody: '' },
    saved: new Map([[WALK_SSH_KEY, makeSshKey()]]),
  };
  for (const login_name of ['admin', 'user'] as const) {
    const reply = await ask(walk, 'nobody', {
      method: 'POST',
      path: 'auth-methods/ampw_1234567890:authenticate',
      body: { command: 'login', attributes: { login_name, password: 'password' } },
    });
    walk.tokens[login_name] = reply.textAt('attributes.token');
  }
  walk.saved.set('self', idOf(walk.tokens.admin));
  return walk;
}

/** A token's own id is its first two parts; the client takes it from there. */
const idOf = (token: string): string => token.split('_').slice(0, 2).join('_');

function makeSshKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'sec1', format: 'pem' }).toString();
}

/** Puts what earlier answers brought in the place of its name, anywhere in a request. */
function fill<T>(value: T, saved: ReadonlyMap<string, string>): T {
  const text = JSON.stringify(value)
    .replace(/<(\w+)>/g, (_, name: string) => saved.get(name) ?? assert.fail(`no <${name}> yet`))
    .replace(JSON.stringify(WALK_SSH_KEY), JSON.stringify(saved.get(WALK_SSH_KEY)));
  return JSON.parse(text);
}

async function take(walk: Walk, { types, as, asks }: Step): Promise<void> {
  let version: unknown;
  for (const asked of asks) {
    const { method, path, body, status = 200, saves, versioned } = fill(asked, walk.saved);
    const reply = await ask(walk, as, {
      method,
      path,
      ...(body ? { body: versioned ? { ...body, version } : body } : {}),
    });
    const what = `${types}: ${method} ${path}`;
    assert.equal(reply.status, status, `${what}\n${reply.text}`);
    if (status === 204) assert.equal(reply.text, '', what);
    else if (status < 300) judgeAnswer(what, asked, reply);
    version = reply.field('version');
    if (saves !== undefined) walk.saved.set(saves, idIn(reply));
  }
}

const idIn = (reply: Reply): string =>
  reply.textAt('id') || reply.textAt('session_id') || reply.textAt('items.0.id');

const LIST_KEYS = ['est_item_count', 'items', 'list_token', 'response_type', 'sort_by', 'sort_dir'];

function judgeAnswer(what: string, asked: Ask, reply: Reply): void {
  if (asked.shape === undefined) return;
  const answer: unknown = JSON.parse(reply.text);
  if (!asked.lists) {
    judgeKeys(what, asked, answer);
    return;
  }
  const items = reply.field('items');
  // Neither comes in pages.
  if (!['worker', 'active users'].includes(asked.shape)) {
    const keys = Object.keys(Object(answer)).sort();
    const wanted = items === undefined ? ['response_type', 'sort_by', 'sort_dir'] : LIST_KEYS;
    assert.deepEqual(keys, wanted, what);
  } else {
    assert.deepEqual(Object.keys(Object(answer)), ['items'], what);
  }
  for (const item of Array.isArray(items) ? items : []) judgeKeys(what, asked, item);
}

function judgeKeys(what: string, asked: Ask, answer: unknown): void {
  const shape = SHAPES[asked.shape ?? ''] ?? assert.fail(`no shape ${asked.shape}`);
  const words = (text = ''): string[] => text.split(' ').filter((word) => word !== '');
  const keys = [...keysOf(answer, '')];
  const needs = [...words(shape.needs), ...words(asked.with)];
  const known = [...needs, ...words(shape.may)];
  assert.deepEqual(
    needs.filter((key) => !keys.includes(key)),
    [],
    `${what} lacks keys`,
  );
  assert.deepEqual(
    keys.filter((key) => !known.includes(key)),
    [],
    `${what} has unexpected keys`,
  );
}

/** Maps whose keys are data. */
const MAPS = /^(authorized_collection_actions|(api|canonical|config)_tags)$/;

/** Paths of all values, `[]` standing for any place in a list and `{}` for any key of a map. */
function* keysOf(value: unknown, path: string): Generator<string> {
  if (Array.isArray(value)) {
    const paths = new Set(value.flatMap((item) => [...keysOf(item, `${path}[]`)]));
    yield* paths;
  } else if (typeof value === 'object' && value !== null && MAPS.test(path)) {
    yield `${path}{}`;
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      yield* keysOf(inner, path === '' ? key : `${path}.${key}`);
    }
  } else yield path;
}

/** One round of the client's cache daemon, which keeps what it knows up to date beside the user. */
async function refresh(walk: Walk, user_id: string, tokens: Map<string, string>): Promise<void> {
  const alive = await ask(walk, 'admin', {
    method: 'GET',
    path: `auth-tokens/${idOf(walk.tokens.admin)}`,
  });
  const expected = alive.status === 200 ? [200] : [401, 403];
  for (const path of [
    `users/${user_id}:list-resolvable-aliases?recursive=true&scope_id=global`,
    'targets?recursive=true&scope_id=global',
    'sessions?include_terminated=true&recursive=true&scope_id=global',
  ]) {
    const list_token = tokens.get(path) ?? '';
    const reply = await ask(walk, 'admin', {
      method: 'GET',
      path: list_token === '' ? path : `${path}&list_token=${list_token}`,
    });
    if (reply.status === 400) {
      assert.equal(reply.field('kind'), 'invalid list token', 'the daemon starts over');
      tokens.delete(path);
      continue;
    }
    assert.ok(expected.includes(reply.status), `${path}: ${reply.status} ${reply.text}`);
    if (reply.status !== 200) continue;
    assert.equal(reply.field('response_type'), 'complete');
    tokens.set(path, reply.textAt('list_token'));
    const shape = /^(\w+)/.exec(path)?.[1];
    if (shape === 'users') {
      const items = reply.field('items');
      for (const item of Array.isArray(items) ? items : []) {
        judgeKeys(path, { method: 'GET', path, shape: 'resolvable alias' }, item);
      }
    }
  }
}

eachPlace('the client’s command line', (newPlace) => {
  test('every command does its work, in the order of a working day', async (t) => {
    const walk = await start(t, await newPlace());
    for (const step of CLI_WALK) await take(walk, step);
  });

  test('the commands do their work beside the client’s cache daemon, which outlives the token', async (t) => {
    const walk = await start(t, await newPlace());
    const tokens = new Map<string, string>();
    for (const [at, step] of CLI_WALK.entries()) {
      await take(walk, step);
      if (at % 4 === 0 || at > CLI_WALK.length - 3) await refresh(walk, 'u_1234567890', tokens);
    }
    const late = await ask(walk, 'admin', {
      method: 'GET',
      path: `auth-tokens/${idOf(walk.tokens.admin)}`,
    });
    assert.equal(late.status, 404, 'the daemon asks for a token that was revoked');
  });
});
