// A list that is read while it is sent goes on as long as whoever asked for it may be told of it, and breaks off then: it
// is never ended as if it were whole.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { copyRow, numbered } from '../support/many-rows.ts';
import { headOf, openTalk, until } from '../support/raw-talk.ts';
import { type Client, type Reply, startTestServer } from '../support/server.ts';

/** More than a socket of either side takes that nobody reads. */
const NAME = `n${'x'.repeat(200)}`;
const COPIES = 60_000;
const LAST = '0\r\n\r\n';
const MAY_LIST = 'path "auth/up/users/" { capabilities = ["list"] }';
const PASSWORD = { password: 'right' };

interface Bench extends Client {
  token: string;
  accessor: string;
  entity: string;
  /** Lets so many seconds pass. */
  pass(seconds: number): void;
  ok(method: string, path: string, body?: object): Promise<Reply>;
}

/** Somebody who may list what there is much of. */
async function open(t: TestContext): Promise<Bench> {
  let passed = 0;
  const client = await startTestServer(t, { now: () => Date.now() + passed * 1000 });
  const ok = async (method: string, path: string, body?: object): Promise<Reply> => {
    const reply = await client.call(method, path, body);
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.text}`);
    return reply;
  };
  for (const path of ['up', 'in']) await ok('POST', `sys/auth/${path}`, { type: 'userpass' });
  await ok('POST', `auth/up/users/${NAME}`, PASSWORD);
  const changes = { name: numbered('name') };
  await copyRow(client.running.app.store, 'userpass_user', {
    ...{ of: { name: NAME }, copies: COPIES },
    changes,
  });
  await ok('POST', 'sys/policies/acl/lister', { policy: MAY_LIST });
  await ok('POST', 'sys/policies/acl/other', { policy: MAY_LIST });
  const token_policies = 'lister';
  for (const name of ['eve', 'bob']) {
    await ok('POST', `auth/in/users/${name}`, { ...PASSWORD, token_policies });
  }
  const { textAt } = await client.call('POST', 'auth/in/login/eve', PASSWORD, { token: '' });
  return {
    ...client,
    token: textAt('auth.client_token'),
    accessor: textAt('auth.accessor'),
    entity: textAt('auth.entity_id'),
    pass: (seconds) => {
      passed += seconds;
    },
    ok,
  };
}

/** What comes of a list of which the client takes the beginning, and the rest after something has happened. */
async function take(bench: Bench, asked: string, token: string, happen: () => Promise<unknown>) {
  const { socket, answers, text, closed } = await openTalk(bench, '127.0.0.1');
  let isClosed = false;
  void closed.then(() => {
    isClosed = true;
  });
  try {
    socket.write(headOf(bench, asked, [`X-Vault-Token: ${token}`]));
    await answers(1);
    assert.match(text(), /^HTTP\/1.1 200/);
    // The first page is read once the answer has begun.
    await until(() => text().includes('xxx'));
    socket.pause();
    await until(() => bench.running.http.held().unsent > 0);
    await happen();
    socket.resume();
    await until(() => isClosed || text().endsWith(LAST));
    return { text: text(), isWhole: text().endsWith(LAST) };
  } finally {
    socket.destroy();
  }
}

type Happening = (bench: Bench) => Promise<unknown> | undefined;

const ends: [what: string, happen: Happening][] = [
  ['its token is revoked', ({ ok, token }) => ok('POST', 'auth/token/revoke', { token })],
  [
    'its token is revoked by itself',
    ({ call, token }) => call('POST', 'auth/token/revoke-self', {}, { token }),
  ],
  [
    'its token is revoked by its accessor',
    ({ ok, accessor }) => ok('POST', 'auth/token/revoke-accessor', { accessor }),
  ],
  ['its token has run out', async ({ pass }) => pass(40 * 86_400)],
  [
    'its policy denies it',
    ({ ok }) => ok('POST', 'sys/policies/acl/lister', { policy: MAY_LIST.replace('list', 'deny') }),
  ],
  ['its policy is removed', ({ ok }) => ok('DELETE', 'sys/policies/acl/lister')],
  [
    'its entity is disabled',
    ({ ok, entity }) => ok('POST', `identity/entity/id/${entity}`, { disabled: true }),
  ],
  ['its entity is removed', ({ ok, entity }) => ok('DELETE', `identity/entity/id/${entity}`)],
  ['its user is removed', ({ ok }) => ok('DELETE', 'auth/in/users/eve')],
  ['its auth mount is removed', ({ ok }) => ok('DELETE', 'sys/auth/in')],
  ['what is listed is removed', ({ ok }) => ok('DELETE', 'sys/auth/up')],
  ['the server is sealed', ({ ok }) => ok('PUT', 'sys/seal')],
];
for (const [what, happen] of ends) {
  test(`a list breaks off when ${what}`, async (t) => {
    const bench = await open(t);
    const { text, isWhole } = await take(bench, 'LIST /v1/auth/up/users', bench.token, async () => {
      await happen(bench);
      // Where it can still be made.
      await bench.call('POST', 'auth/up/users/zz-made-after', PASSWORD);
    });
    assert.equal(isWhole, false);
    assert.ok(text.includes(NAME));
    assert.ok(!text.includes('zz-made-after'));
    assert.ok(text.length < COPIES * NAME.length);
  });
}

const goesOn: [what: string, happen: Happening][] = [
  ['nothing happens', async () => {}],
  [
    'its policy permits more',
    ({ ok }) =>
      ok('POST', 'sys/policies/acl/lister', { policy: MAY_LIST.replace('"]', '", "read"]') }),
  ],
  ['another policy is removed', ({ ok }) => ok('DELETE', 'sys/policies/acl/other')],
  ['another user is removed', ({ ok }) => ok('DELETE', 'auth/in/users/bob')],
  [
    'another token is revoked',
    async ({ ok }) => {
      const made = await ok('POST', 'auth/token/create', { policies: ['lister'] });
      await ok('POST', 'auth/token/revoke', { token: made.textAt('auth.client_token') });
    },
  ],
  [
    'its entity has other metadata',
    ({ ok, entity }) => ok('POST', `identity/entity/id/${entity}`, { metadata: { a: 'b' } }),
  ],
  ['another mount is removed', ({ ok }) => ok('DELETE', 'sys/mounts/demo')],
];
for (const [what, happen] of goesOn) {
  test(`a list goes on to its end when ${what}`, async (t) => {
    const bench = await open(t);
    const { text, isWhole } = await take(bench, 'LIST /v1/auth/up/users', bench.token, async () =>
      happen(bench),
    );
    assert.equal(isWhole, true);
    assert.equal(text.split(NAME).length - 1, COPIES + 1);
  });
}

test('a list by the last use of a token goes on to its end, and another begins no more', async (t) => {
  const bench = await open(t);
  const made = await bench.ok('POST', 'auth/token/create', { policies: ['lister'], num_uses: 1 });
  const token = made.textAt('auth.client_token');
  const { isWhole } = await take(bench, 'LIST /v1/auth/up/users', token, async () => {});
  assert.equal(isWhole, true);
  assert.equal((await bench.call('LIST', 'auth/up/users', undefined, { token })).status, 403);
});

test('what is told of each of a list breaks off, too', async (t) => {
  const bench = await open(t);
  const policy = 'path "identity/entity/id/" { capabilities = ["list"] }';
  await bench.ok('POST', 'sys/policies/acl/lister', { policy });
  await bench.ok('POST', 'identity/entity', { name: NAME });
  await copyRow(bench.running.app.store, 'identity_entity', {
    ...{ of: { name: NAME }, copies: COPIES },
    changes: { id: numbered('id'), name: numbered('name'), name_key: numbered('name_key') },
  });
  const asked = 'LIST /v1/identity/entity/id';
  const cut = await take(bench, asked, bench.token, () =>
    bench.ok('POST', 'auth/token/revoke', { token: bench.token }),
  );
  assert.equal(cut.isWhole, false);
});
