/** What is refused before anybody is judged, and how records name whoever asked for it. */

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { tokenId } from '../../src/access/tokens/minting.operations.ts';
import { hashText } from '../../src/audit/record.ts';
import { listRecordsAfter } from '../../src/audit/store.ts';
import type { RateLimits } from '../../src/config/settings.ts';
import { Unattended } from '../../src/http/unattended.ts';
import { headOf, openTalk } from '../support/raw-talk.ts';
import { type Broker, type Person, startBroker } from '../support/seeded-broker.ts';
import { writeRecords } from '../support/threads.ts';

interface Recorded {
  request?: { route?: string; operation: string; path: string };
  auth?: { token?: string; accessor?: string; unknown_token?: string };
  response?: { status: string; error?: string };
  refused?: { requests: number; route?: string; remote_address?: string; because?: string };
}

async function recordsOf({ client }: Broker): Promise<Recorded[]> {
  const { app } = client.running;
  await writeRecords(client.running);
  const records: Recorded[] = [];
  for (let seq = 0; ; ) {
    const page = await listRecordsAfter(app.db, { node: 'local', seq, limit: 1000 });
    records.push(...page.map(({ record }): Recorded => JSON.parse(record)));
    const last = page.at(-1);
    if (!last) return records;
    seq = last.seq;
  }
}

/** The records that something leaves. */
async function recordsOfWhat(broker: Broker, act: () => Promise<unknown>): Promise<Recorded[]> {
  const seen = (await recordsOf(broker)).length;
  await act();
  return (await recordsOf(broker)).slice(seen);
}

const hashOf = ({ client }: Broker, token: string): string =>
  hashText(Buffer.from(tokenId(client.running.app, token), 'base64url'));

type Headers = Readonly<Record<string, string>>;

async function ask(broker: Broker, method: string, path: string, headers: Headers) {
  const answer = await fetch(`${broker.client.url}/v1/${path}`, { method, headers });
  return { status: answer.status, text: await answer.text() };
}

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });
const vault = (token: string): Headers => ({ 'x-vault-token': token });
const FOREIGN = { origin: 'https://evil.test' };
const UNKNOWN = 'at_1234567890_s1madeup';

let broker: Broker;
let person: Person;
let now = 1_900_000_000_000;
const files: (() => Promise<void>)[] = [];

before(async () => {
  // Each case has a minute of its own, as unauthenticated records are few in one.
  broker = await startBroker({ after: (stop) => void files.push(stop) }, { now: () => now });
  person = await broker.person([]);
});
test.after(async () => {
  for (const stop of files.reverse()) await stop();
});

/** What is refused whoever asks, and how a record tells of it. */
const EARLY: [
  what: string,
  method: string,
  path: string,
  headers: Headers,
  status: number,
  told: { route?: string; operation: string; path: string },
][] = [
  [
    'a page of another origin',
    'DELETE',
    'users/u_1234567890',
    FOREIGN,
    403,
    { route: 'delete-user', operation: 'delete', path: 'users/u_1234567890' },
  ],
  [
    'a read for a page of another origin',
    'GET',
    'users/u_1234567890',
    FOREIGN,
    403,
    { route: 'read-user', operation: 'read', path: 'users/u_1234567890' },
  ],
  [
    'a page of another origin that asks for nothing there is',
    'POST',
    'users/u_1234567890:frob',
    FOREIGN,
    403,
    { operation: 'update', path: 'users…' },
  ],
  [
    'an unknown action',
    'POST',
    'users/u_1234567890:frob',
    {},
    400,
    { operation: 'update', path: 'users…' },
  ],
  [
    'an action of something else',
    'POST',
    'users/u_1234567890:authorize-session',
    {},
    405,
    { operation: 'update', path: 'users…' },
  ],
  [
    'a method that is not there',
    'POST',
    'users/u_1234567890',
    {},
    405,
    { operation: 'update', path: 'users/u_1234567890' },
  ],
  [
    'a method that nothing has',
    'PUT',
    'users/u_1234567890',
    {},
    405,
    { operation: '', path: 'users/u_1234567890' },
  ],
  [
    'a path that leads nowhere',
    'DELETE',
    'users/u_1234567890/x',
    {},
    404,
    { operation: 'delete', path: 'users…' },
  ],
  [
    'a path that cannot be read',
    'DELETE',
    'users/%zz',
    {},
    400,
    { operation: 'delete', path: '…' },
  ],
  [
    'a path that was encoded twice, by another method',
    'PUT',
    'users/u_1%2532',
    {},
    405,
    { operation: '', path: 'users…' },
  ],
  [
    'one with a percent sign in it',
    'PUT',
    'users/u_1%25x',
    {},
    405,
    { operation: '', path: 'users/u_1%x' },
  ],
  [
    'a wrong correlation id',
    'DELETE',
    'users/u_1234567890',
    { 'x-correlation-id': 'none' },
    400,
    { route: 'delete-user', operation: 'delete', path: 'users/u_1234567890' },
  ],
  [
    'two tokens',
    'DELETE',
    'users/u_1234567890',
    vault('hvs.another'),
    400,
    { route: 'delete-user', operation: 'delete', path: 'users/u_1234567890' },
  ],
  [
    'two tokens on the Vault API',
    'DELETE',
    'sys/policies/acl/x',
    vault('hvs.another'),
    400,
    { route: 'policies-delete-acl-policy', operation: 'delete', path: 'sys/policies/acl/x' },
  ],
  [
    'another namespace',
    'DELETE',
    'sys/policies/acl/x',
    { 'x-vault-namespace': 'team' },
    404,
    { route: 'policies-delete-acl-policy', operation: 'delete', path: 'sys/policies/acl/x' },
  ],
  [
    'a path of the Vault API that cannot be read',
    'DELETE',
    'sys/%zz',
    {},
    400,
    { operation: '', path: '' },
  ],
  [
    'a time to keep what is wrapped that is none',
    'DELETE',
    'sys/policies/acl/x',
    { 'x-vault-wrap-ttl': 'soon' },
    400,
    { route: 'policies-delete-acl-policy', operation: 'delete', path: 'sys/policies/acl/x' },
  ],
  [
    'a method that an open path of the Vault API has not',
    'DELETE',
    'sys/health',
    {},
    405,
    { operation: 'delete', path: 'sys/health' },
  ],
  [
    'another method that an open path has not',
    'POST',
    'sys/seal-status',
    {},
    405,
    { operation: 'update', path: 'sys/seal-status' },
  ],
  [
    'a path of the Vault API that leads nowhere',
    'DELETE',
    'sys/nowhere',
    {},
    403,
    { operation: 'delete', path: 'sys/…' },
  ],
];

for (const [what, method, path, headers, status, told] of EARLY) {
  const attempt = (token: Headers) => ask(broker, method, path, { ...headers, ...token });

  test(`${what}: each time the record names whoever has a good token`, async () => {
    const records = await recordsOfWhat(broker, async () => {
      for (let n = 0; n < 30; n++) {
        assert.equal((await attempt(bearer(person.token))).status, status);
      }
    });
    assert.equal(records.length, 30);
    for (const { request, auth, response } of records) {
      assert.equal(auth?.token, hashOf(broker, person.token));
      assert.equal(response?.status, 'refused');
      const { route, operation = '', path: at = '' } = request ?? {};
      assert.deepEqual({ ...(route && { route }), operation, path: at }, told);
    }
  });

  test(`${what}: of unauthenticated ones three are recorded and the others counted`, async () => {
    now += 60_000;
    for (const token of [{}, bearer(UNKNOWN)]) {
      now += 60_000;
      const records = await recordsOfWhat(broker, async () => {
        for (let n = 0; n < 5; n++) await attempt(token);
      });
      assert.equal(records.length, 4);
      assert.equal(records.filter(({ auth }) => auth?.token !== undefined).length, 0);
      assert.equal(records.at(-1)?.refused?.requests, 2);
    }
  });
}

/** As a client that sets a field which `fetch` does not send. */
async function askRaw({ client }: Broker, asked: string, fields: readonly string[]) {
  const talk = await openTalk(client, '127.0.0.1');
  talk.socket.write(headOf(client, asked, [...fields, 'Connection: close']));
  await talk.answers(1);
  talk.socket.destroy();
  return Number(talk.text().slice('HTTP/1.1 '.length).slice(0, 3));
}

test('an expectation that nobody knows is recorded with whoever has a good token, on both APIs', async () => {
  const asked: [string, { route: string; operation: string; path: string }][] = [
    [
      'DELETE /v1/users/u_1234567890',
      { route: 'delete-user', operation: 'delete', path: 'users/u_1234567890' },
    ],
    [
      'DELETE /v1/sys/policies/acl/x',
      { route: 'policies-delete-acl-policy', operation: 'delete', path: 'sys/policies/acl/x' },
    ],
  ];
  for (const [line, told] of asked) {
    const times = async (many: number, fields: readonly string[]) => {
      now += 60_000;
      return recordsOfWhat(broker, async () => {
        for (let n = 0; n < many; n++) {
          assert.equal(await askRaw(broker, line, ['Expect: x', ...fields]), 417);
        }
      });
    };
    const records = await times(30, [`X-Vault-Token: ${person.token}`]);
    assert.equal(records.length, 30);
    for (const { request, auth, response } of records) {
      assert.equal(auth?.token, hashOf(broker, person.token));
      assert.equal(response?.status, 'refused');
      const { route, operation, path } = request ?? {};
      assert.deepEqual({ route, operation, path }, told);
    }
    const unauthenticated = await times(5, []);
    assert.equal(unauthenticated.length, 4);
    assert.equal(unauthenticated.at(-1)?.refused?.requests, 2);
  }
  const met = await askRaw(broker, 'GET /v1/auth/token/lookup-self', [
    `X-Vault-Token: ${person.token}`,
    'Expect: 100-continue',
  ]);
  assert.notEqual(met, 417);
});

test('what is refused as too much goes on for clients that have gone is counted by who asks and what for', async (t) => {
  t.mock.method(Unattended.prototype, 'hasRoomFor', () => false);
  const times = async (many: number, path: string, headers: Headers) => {
    now += 60_000;
    return recordsOfWhat(broker, async () => {
      for (let n = 0; n < many; n++) {
        assert.equal((await ask(broker, 'DELETE', path, headers)).status, 429);
      }
    });
  };
  for (const [path, route] of [
    ['users/u_1234567890', 'delete-user'],
    ['sys/policies/acl/x', 'policies-delete-acl-policy'],
  ] as const) {
    for (const headers of [vault(person.token), { ...bearer(UNKNOWN), ...vault(person.token) }]) {
      const [first, counted, ...more] = await times(9, path, headers);
      assert.deepEqual(more, []);
      assert.equal(first?.auth?.token, hashOf(broker, person.token));
      assert.deepEqual([first?.request?.route, first?.request?.path], [route, path]);
      assert.equal(counted?.auth?.token, hashOf(broker, person.token));
      assert.deepEqual([counted?.refused?.route, counted?.refused?.requests], [route, 8]);
    }
    const unauthenticated = await times(5, path, bearer(UNKNOWN));
    assert.equal(unauthenticated.length, 4);
    assert.equal(unauthenticated.filter(({ auth }) => auth?.token !== undefined).length, 0);
    assert.equal(unauthenticated.at(-1)?.refused?.requests, 2);
  }
});

test('many of those at once are counted by their address, and none is left out', async (t) => {
  t.mock.method(Unattended.prototype, 'hasRoomFor', () => false);
  now += 60_000;
  const many = 200;
  const records = await recordsOfWhat(broker, async () => {
    const path = 'users/u_1234567890';
    const asking = Array.from({ length: many }, () =>
      ask(broker, 'DELETE', path, bearer(person.token)),
    );
    for (const { status } of await Promise.all(asking)) assert.equal(status, 429);
  });
  const told = records.map(({ refused }) => refused?.requests ?? 1);
  assert.equal(
    told.reduce((all, one) => all + one, 0),
    many,
  );
});

test('of two tokens whichever is good is named, of a cookie the whole, and a preflight leaves nothing', async () => {
  const path = 'users/u_1234567890:frob';
  const half = Math.floor(person.token.length / 2);
  const cookie = `wt-js-token-cookie=${person.token.slice(0, half)}; wt-http-token-cookie=${person.token.slice(half)}`;
  const sent: [Headers, boolean][] = [
    [{ ...bearer(person.token), ...vault('hvs.x') }, true],
    [{ ...bearer(UNKNOWN), ...vault(person.token) }, true],
    [{ ...bearer(UNKNOWN), ...vault('hvs.x') }, false],
    [{ cookie }, true],
    [{ cookie: cookie.slice(0, -1) }, false],
  ];
  for (const [headers, isKnown] of sent) {
    now += 60_000;
    const [record] = await recordsOfWhat(broker, () => ask(broker, 'POST', path, headers));
    assert.equal(record?.auth?.token, isKnown ? hashOf(broker, person.token) : undefined);
    assert.equal(record?.auth?.unknown_token !== undefined, !isKnown);
  }
  const preflight = { origin: 'serve://boundary', 'access-control-request-method': 'DELETE' };
  const nothing = await recordsOfWhat(broker, async () => {
    const answer = await ask(broker, 'OPTIONS', path, { ...preflight, ...bearer(person.token) });
    assert.equal(answer.status, 204);
  });
  assert.deepEqual(nothing, []);
});

test('a token that is nobody is no name, and of counted uses none is taken', async () => {
  now += 60_000;
  const { call } = broker.client;
  await call('POST', 'sys/auth/userpass', { type: 'userpass' });
  await call('POST', 'auth/userpass/users/ann', { password: 'correct horse' });
  const path = 'auth/userpass/login/ann';
  const login = await call('POST', path, { password: 'correct horse' }, { token: '' });
  const ann = login.textAt('auth.client_token');
  const wrapped = await call('GET', 'sys/mounts', undefined, {
    headers: { 'x-vault-wrap-ttl': '60' },
  });
  const made = await call('POST', 'auth/token/create', { policies: ['default'], num_uses: 1 });
  const once = made.textAt('auth.client_token');
  const named = async (token: string) => {
    const [record] = await recordsOfWhat(broker, async () => {
      assert.equal((await ask(broker, 'DELETE', 'users/u_1:frob', bearer(token))).status, 400);
    });
    assert.notEqual(record?.auth, undefined);
    return record?.auth?.token === hashOf(broker, token);
  };
  assert.equal(await named(ann), true);
  const entity = `identity/entity/id/${login.textAt('auth.entity_id')}`;
  assert.equal((await call('POST', entity, { disabled: true })).status, 204);
  assert.equal(await named(ann), false, 'whose entity is disabled');
  assert.equal(await named(wrapped.textAt('wrap_info.token')), false, 'of a wrapped answer');
  assert.deepEqual([await named(once), await named(once)], [true, true]);
  assert.equal((await ask(broker, 'GET', 'auth/token/lookup-self', vault(once))).status, 200);
  assert.equal(await named(once), false, 'whose use is taken');
});

test('a good token that stands for nobody of the broker is named by what the broker refuses', async () => {
  const made = await broker.client.call('POST', 'auth/token/create', { policies: ['default'] });
  const token = made.textAt('auth.client_token');
  const records = await recordsOfWhat(broker, async () => {
    for (let n = 0; n < 30; n++) await ask(broker, 'DELETE', 'users/u_1234567890', bearer(token));
    await ask(broker, 'GET', 'scopes?scope_id=global', bearer(token));
  });
  assert.equal(records.length, 31);
  for (const { auth } of records) assert.equal(auth?.token, hashOf(broker, token));
});

const quotas = { total: 10_000, per_ip_address: 10_000, per_auth_token: 2 };
const FEW: RateLimits = { disable: false, period: 30, list: quotas, other: quotas };

test('requests beyond the limit are counted by who asks and what for; the first of each is recorded', async (t) => {
  const limited = await startBroker(t, {
    now: () => 1_900_000_000_000,
    config: { rate_limits: FEW },
  });
  const [ann, bea] = [await limited.person([]), await limited.person([])];
  const path = 'users/u_1234567890';
  const times = async (many: number, method: string, headers: Headers) => {
    const answers: number[] = [];
    for (let n = 0; n < many; n++) answers.push((await ask(limited, method, path, headers)).status);
    return answers.filter((status) => status === 429).length;
  };
  const records = await recordsOfWhat(limited, async () => {
    assert.equal(await times(9, 'DELETE', bearer(ann.token)), 7);
    assert.equal(await times(5, 'GET', bearer(ann.token)), 3);
    assert.equal(await times(3, 'DELETE', bearer(bea.token)), 1);
    assert.equal(await times(2, 'PATCH', bearer(bea.token)), 0, 'not beyond it');
  });
  const ofWhom = (token: string) =>
    records.filter(({ auth }) => auth?.token === hashOf(limited, token));
  const wholeOf = (token: string) =>
    ofWhom(token)
      .filter(({ response }) => response?.error === 'too many requests')
      .map(({ request }) => `${request?.route} ${request?.path}`)
      .sort();
  const countsOf = (token: string) => ofWhom(token).flatMap(({ refused }) => refused ?? []);
  assert.deepEqual(wholeOf(ann.token), [`delete-user ${path}`, `read-user ${path}`]);
  assert.deepEqual(
    countsOf(ann.token).map(({ requests, route, because }) => [requests, route, because]),
    [
      [6, 'delete-user', 'too many requests'],
      [2, 'read-user', 'too many requests'],
    ],
  );
  assert.deepEqual(wholeOf(bea.token), [`delete-user ${path}`]);
  assert.deepEqual(countsOf(bea.token), []);
  assert.equal(ofWhom(ann.token).length + ofWhom(bea.token).length, records.length);
});

test('unauthenticated requests beyond the limit are counted as what they are', async (t) => {
  const limited = await startBroker(t, {
    now: () => 1_900_000_000_000,
    config: { rate_limits: FEW },
  });
  const records = await recordsOfWhat(limited, async () => {
    for (let n = 0; n < 50; n++) await ask(limited, 'DELETE', 'users/u_1', bearer(UNKNOWN));
  });
  assert.equal(records.length, 4);
  assert.equal(records.filter(({ auth }) => auth?.token !== undefined).length, 0);
  assert.equal(records.at(-1)?.refused?.requests, 47);
  assert.equal(records.at(-1)?.refused?.remote_address, '127.0.0.1');
});
