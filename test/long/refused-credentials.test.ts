// What a Vault server made and this server then refused is ended there: at once, or later where that fails.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { revokeSessionCredentials } from '../../src/broker/sessions/credentials/termination.operations.ts';
import type { Running } from '../../src/start/server.ts';
import { eachPlace } from '../support/engines.ts';
import { endDue } from '../support/job-work.ts';
import { type Broker, startBroker } from '../support/seeded-broker.ts';
import { writeRecords } from '../support/threads.ts';
import { type FakeVault, GOOD_TOKEN, startFakeVault } from '../support/vault.ts';

const ID = 'odd/creds/1';
const nest = (levels: number): unknown => (levels === 0 ? 1 : { a: nest(levels - 1) });
const whole = (data: unknown, lease_id = ID): string =>
  JSON.stringify({ request_id: 'r', lease_id, renewable: true, lease_duration: 60, data });
const LONG = whole({ x: 'x'.repeat(2 << 20) });
const LONG_ID = `odd/${'x'.repeat(4_000)}`;
const NUL_ID = 'odd/a\u0000b\u0085c';

type Refused = { text: string; broken?: true };

/** What the server answers after it made something, and why that is refused. */
const refused: [
  what: string,
  answer: Refused,
  status: number,
  because: RegExp,
  lease_id?: string,
][] = [
  ['is nested too deep', { text: whole(nest(66)) }, 500, /nested too deep/],
  ['has too many values', { text: whole(Array(10_001).fill(1)) }, 500, /more than 10000 values/],
  ['is too long', { text: LONG }, 500, /too long/],
  ['has no end', { text: whole({ a: 1 }).slice(0, -9) }, 500, /no JSON object/],
  ['goes on after its end', { text: `${whole({ a: 1 })}x` }, 500, /no JSON object/],
  ['breaks off', { text: whole({ a: 1 }).slice(0, -9), broken: true }, 503, /cannot be reached/],
  ['has a lease with control characters', { text: whole({ a: 1 }, NUL_ID) }, 500, /kept/, NUL_ID],
  ['has a lease with a long id', { text: whole({ a: 1 }, LONG_ID) }, 500, /kept/, LONG_ID],
  ['has a list for a secret', { text: whole([1]) }, 500, /the secret has no .*data/],
  ['has no secret', { text: whole(undefined) }, 500, /the secret has no .*data/],
  [
    'has a secret of another kind',
    { text: whole({ password: 5 }) },
    500,
    /the secret has no .*username/,
  ],
];

interface Setting {
  broker: Broker;
  vault: FakeVault;
  target: string;
}

type Of = { after(stop: () => Promise<void>): void };

async function start(t: Of, options: Parameters<typeof startBroker>[1]): Promise<Setting> {
  const broker = await startBroker(t, options);
  const { admin, make, project: scope_id } = broker;
  const vault = await startFakeVault();
  t.after(() => vault.stop());
  const token = { token: 'good', address: vault.url };
  const store = { scope_id, type: 'vault', attributes: token };
  const library = await make('credential-libraries', {
    credential_store_id: await make('credential-stores', store),
    type: 'vault-generic',
    credential_type: 'username_password',
    attributes: { path: 'odd/creds' },
  });
  const address = { address: '127.0.0.1', attributes: { default_port: 1 } };
  const target = await make('targets', { scope_id, type: 'tcp', name: 'x', ...address });
  const sources = { version: 1, brokered_credential_source_ids: [library] };
  await admin('POST', `targets/${target}:add-credential-sources`, sources);
  return { broker, vault, target };
}

/** What the record of the one refused session says was given back. */
async function listGivenBack(running: Running): Promise<Partial<Record<string, string>>[]> {
  await writeRecords(running);
  const rows = await running.app.db.selectFrom('audit_entry').select('record').execute();
  const records = rows.map(({ record }) => JSON.parse(record));
  const [session, ...others] = records.filter(
    ({ request }) => request?.route === 'authorize-session-target',
  );
  assert.deepEqual(others, []);
  assert.equal(session.response.status, 'refused');
  return session.response.given_back ?? [];
}

eachPlace('what is refused after it was made', (newPlace) => {
  for (const [what, answer, status, because, lease_id = ID] of refused) {
    for (const fails of [false, true]) {
      const when = fails ? 'is due where it cannot be ended, and ended then' : 'is ended at once';
      test(`a credential whose answer ${what} ${when}`, async (t) => {
        const { broker, vault, target } = await start(t, { place: await newPlace() });
        vault.answers.set('GET odd/creds', answer);
        vault.leases.set(lease_id, 'good');
        const failing = { status: 400, body: { errors: ['failed to persist lease entry'] } };
        if (fails) vault.answers.set('PUT sys/leases/revoke', failing);
        const session = await broker.admin('POST', `targets/${target}:authorize-session`, {});
        assert.equal(session.status, status, session.text);
        assert.match(session.text, because);
        const { app } = broker.client.running;
        const due = await app.db.selectFrom('lease').select('expires_at').execute();
        assert.equal(vault.leases.has(lease_id), fails);
        assert.equal(due.length, fails ? 1 : 0);
        for (const { expires_at } of due) assert.ok(expires_at <= app.now() / 1000);
        vault.answers.delete('PUT sys/leases/revoke');
        await endDue(app);
        assert.equal(vault.leases.has(lease_id), false);
        assert.deepEqual(await app.db.selectFrom('lease').select('id').execute(), []);
        const [one, ...more] = await listGivenBack(broker.client.running);
        assert.deepEqual(more, []);
        assert.equal(one?.lease, fails ? 'due' : 'ended');
        assert.ok(one?.lease_id?.includes(`/${one.source_id}/`));
      });
    }
  }
});

/** What a server says of an end that it has not made, and one that says that there is nothing to end. */
const ends: [words: string, isKept: boolean][] = [
  ['failed to persist lease entry: context deadline exceeded', true],
  ['error performing token check: failed to persist lease entry', true],
  ['invalid lease', false],
];

for (const [words, isKept] of ends) {
  test(`a canceled session's lease of which "${words}" is said is ${isKept ? 'ended later' : 'gone'}`, async (t) => {
    const { broker, vault, target } = await start(t, {});
    const { admin, client } = broker;
    const data = { username: 'u', password: 'p' };
    vault.answers.set('GET odd/creds', { text: whole(data) });
    vault.leases.set(ID, 'good');
    const session = await admin('POST', `targets/${target}:authorize-session`, {});
    assert.equal(session.status, 200, session.text);
    vault.answers.set('PUT sys/leases/revoke', { status: 400, body: { errors: [words] } });
    const session_id = session.textAt('session_id');
    const { app } = client.running;
    assert.equal(
      (await admin('POST', `sessions/${session_id}:cancel`, { version: 1 })).status,
      200,
    );
    await revokeSessionCredentials(app, [session_id]);
    const rows = await app.db.selectFrom('lease').select('id').execute();
    assert.equal(rows.length, isKept ? 1 : 0);
    vault.answers.delete('PUT sys/leases/revoke');
    // The server may have tried by itself, too: after the second time in vain it waits as long as lay between the two.
    const isThere = async () =>
      (await app.db.selectFrom('lease').select('id').execute()).length > 0;
    for (let left = 500; left > 0 && (await isThere()); left -= 1) {
      await endDue(app);
      await setTimeout(10);
    }
    assert.equal(vault.leases.has(ID), !isKept);
    assert.equal(await isThere(), false);
  });
}

/** Answers that are a token instead of a secret, and whether it is ended. */
const tokens: [what: string, auth: unknown, isEnded: boolean][] = [
  ['a token', { client_token: 'child' }, true],
  ['a token with more', { client_token: 'child', lease_duration: 60 }, true],
  ["the store's own token", { client_token: 'good' }, false],
  ['no token', { lease_duration: 60 }, false],
  ['a token that cannot be sent', { client_token: 'a\nb' }, false],
  ['a number', { client_token: 5 }, false],
];

for (const [what, auth, isEnded] of tokens) {
  test(`a refused answer that holds ${what} has ${isEnded ? 'its' : 'no'} token ended`, async (t) => {
    const { broker, vault, target } = await start(t, {});
    vault.tokens.set('child', GOOD_TOKEN);
    vault.answers.set('GET odd/creds', { body: { auth } });
    const session = await broker.admin('POST', `targets/${target}:authorize-session`, {});
    assert.equal(session.status, 500, session.text);
    assert.equal(vault.tokens.has('child'), !isEnded);
    assert.ok(vault.tokens.has('good'));
    const told = await listGivenBack(broker.client.running);
    assert.deepEqual(
      told.map(({ token }) => token),
      isEnded ? ['ended'] : [],
    );
  });
}
