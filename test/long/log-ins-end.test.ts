// What becomes of finished log-ins, and of what was made from them, when that goes which they came by.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachPlace } from '../support/engines.ts';
import { inReverse } from '../support/node-process.ts';
import { startServerAt } from '../support/placed-server.ts';
import { must } from '../support/racing.ts';
import type { Client, Reply } from '../support/server.ts';

eachPlace('finished log-ins', (newPlace) => {
  const scope = inReverse({ after });
  let call: Client['call'];
  let count = 0;

  before(async () => {
    ({ call } = await startServerAt(scope, await newPlace()));
    const text = 'path "auth/token/create*" { capabilities = ["update"] }';
    for (const name of ['maker', 'other']) {
      await must(call('PUT', `sys/policies/acl/${name}`, { policy: text }));
    }
    await must(call('POST', 'auth/token/roles/lone', { orphan: true }));
  });

  const statusOf = async (token: string): Promise<number> =>
    (await call('GET', 'auth/token/lookup-self', undefined, { token })).status;
  const renew = (token: string): Promise<Reply> =>
    call('POST', 'auth/token/renew-self', {}, { token });

  interface LoggedIn {
    mount: string;
    account: string;
    token: string;
    entity_id: string;
    logIn(): Promise<Reply>;
  }

  async function userpass(settings: object = {}): Promise<LoggedIn> {
    const mount = `up${++count}`;
    await must(call('POST', `sys/auth/${mount}`, { type: 'userpass' }));
    const account = `auth/${mount}/users/ann`;
    const password = 'correct horse';
    await must(call('POST', account, { password, token_policies: ['maker'], ...settings }));
    const logIn = () => must(call('POST', `auth/${mount}/login/ann`, { password }, { token: '' }));
    const made = await logIn();
    const [token, entity_id] = [made.textAt('auth.client_token'), made.textAt('auth.entity_id')];
    return { mount, account, token, entity_id, logIn };
  }

  async function approle(settings: object = {}): Promise<LoggedIn & { secret_id: string }> {
    const mount = `ar${++count}`;
    await must(call('POST', `sys/auth/${mount}`, { type: 'approle' }));
    const account = `auth/${mount}/role/web`;
    await must(call('POST', account, { token_policies: ['maker'], ...settings }));
    const role_id = (await must(call('GET', `${account}/role-id`))).textAt('data.role_id');
    const secret = await must(call('POST', `${account}/secret-id`, {}));
    const secret_id = secret.textAt('data.secret_id');
    const logIn = () =>
      must(call('POST', `auth/${mount}/login`, { role_id, secret_id }, { token: '' }));
    const made = await logIn();
    const [token, entity_id] = [made.textAt('auth.client_token'), made.textAt('auth.entity_id')];
    return { mount, account, token, entity_id, logIn, secret_id };
  }

  const child = async (token: string, path = 'create', body: object = {}): Promise<string> =>
    (await must(call('POST', `auth/token/${path}`, body, { token }))).textAt('auth.client_token');

  const aliasOf = async ({ entity_id }: LoggedIn): Promise<string> => {
    const entity = await must(call('GET', `identity/entity/id/${entity_id}`));
    const [alias] = entity.field('data.aliases') as { id: string }[];
    return `identity/entity-alias/id/${alias?.id}`;
  };

  const endings: [
    what: string,
    open: () => Promise<LoggedIn>,
    end: (on: LoggedIn) => Promise<Reply>,
  ][] = [
    ['a user that is removed', userpass, ({ account }) => call('DELETE', account)],
    [
      'a user that is removed in capitals',
      userpass,
      ({ mount }) => call('DELETE', `auth/${mount}/users/ANN`),
    ],
    ['a role that is removed', approle, ({ account }) => call('DELETE', account)],
    [
      'a role that gets another ID',
      approle,
      ({ account }) => call('POST', account, { role_id: 'x' }),
    ],
    ['an alias that is removed', userpass, async (on) => call('DELETE', await aliasOf(on))],
    [
      'an alias that is renamed',
      userpass,
      async (on) => call('POST', await aliasOf(on), { name: 'bob' }),
    ],
    [
      'an alias that is given to somebody else',
      approle,
      async (on) => {
        const other = await must(call('POST', 'identity/entity', {}));
        return call('POST', await aliasOf(on), { canonical_id: other.textAt('data.id') });
      },
    ],
    [
      'an entity that is removed',
      userpass,
      ({ entity_id }) => call('DELETE', `identity/entity/id/${entity_id}`),
    ],
    [
      'an entity that is removed with others',
      approle,
      ({ entity_id }) =>
        call('POST', 'identity/entity/batch-delete', { entity_ids: [entity_id, 'x'] }),
    ],
  ];

  for (const [what, open, end] of endings) {
    test(`${what} ends its log-ins and what was made from them, and no others`, async () => {
      const on = await open();
      const neighbour = await open();
      const line = [
        on.token,
        await child(on.token),
        await child(on.token, 'create', { type: 'batch' }),
      ];
      line.push(await child(line[1] ?? ''));
      const orphan = await child(on.token, 'create/lone');
      for (const token of line) assert.equal(await statusOf(token), 200);
      await must(end(on));
      for (const token of line) assert.equal(await statusOf(token), 403);
      assert.equal(await statusOf(orphan), 200);
      assert.equal(await statusOf(neighbour.token), 200);
    });
  }

  for (const [what, open, end] of endings) {
    test(`${what} ends its batch tokens, which have no row, too`, async () => {
      const on = await (open === userpass ? userpass : approle)({ token_type: 'batch' });
      assert.equal(await statusOf(on.token), 200);
      await must(end(on));
      assert.equal(await statusOf(on.token), 403);
    });
  }

  const removals: [what: string, path: (on: LoggedIn, name: string) => string][] = [
    ['by its id', ({ entity_id }) => `identity/entity/id/${entity_id}`],
    ['by its name', (_on, name) => `identity/entity/name/${name}`],
  ];
  for (const [what, path] of removals) {
    test(`a token of an entity that is removed ${what} is not found or renewed by its accessor`, async () => {
      const on = await userpass();
      const name = (await must(call('GET', `identity/entity/id/${on.entity_id}`))).textAt(
        'data.name',
      );
      const self = await call('GET', 'auth/token/lookup-self', undefined, { token: on.token });
      const accessor = self.textAt('data.accessor');
      assert.equal((await call('POST', 'auth/token/lookup-accessor', { accessor })).status, 200);
      await must(call('DELETE', path(on, name)));
      for (const verb of ['lookup', 'renew']) {
        const reply = await call('POST', `auth/token/${verb}-accessor`, { accessor });
        assert.ok([400, 403, 404].includes(reply.status), `${verb}: ${reply.status}`);
      }
    });
  }

  test('an alias that only gets other metadata, or capitals, ends nothing', async () => {
    const on = await userpass();
    const alias = await aliasOf(on);
    await must(call('POST', alias, { custom_metadata: { a: 'b' } }));
    await must(call('POST', alias, { name: 'ANN' }));
    assert.equal(await statusOf(on.token), 200);
  });

  const undone: [what: string, there: object | 'another', back: (entity: string) => object][] = [
    ['renamed and renamed back', { name: 'bob' }, () => ({ name: 'ann' })],
    ['given away and given back', 'another', (canonical_id) => ({ canonical_id })],
  ];
  for (const [what, there, back] of undone) {
    test(`an alias that is ${what} brings no batch token back, and takes log-ins again`, async () => {
      const on = await userpass({ token_type: 'batch' });
      const alias = await aliasOf(on);
      await must(call('POST', alias, { custom_metadata: { a: 'b' } }));
      assert.equal(await statusOf(on.token), 200);
      const other = await must(call('POST', 'identity/entity', {}));
      const moved = there === 'another' ? { canonical_id: other.textAt('data.id') } : there;
      await must(call('POST', alias, moved));
      await must(call('POST', alias, back(on.entity_id)));
      assert.equal(await statusOf(on.token), 403);
      const again = await on.logIn();
      assert.equal(again.textAt('auth.entity_id'), on.entity_id);
      assert.equal(await statusOf(again.textAt('auth.client_token')), 200);
    });
  }

  test('somebody else of the name does not bring log-ins back', async () => {
    const on = await userpass({ token_type: 'batch' });
    await must(call('DELETE', on.account));
    await must(call('POST', on.account, { password: 'correct horse', token_policies: ['maker'] }));
    await on.logIn();
    assert.equal(await statusOf(on.token), 403);
  });

  test('a password that is reset, and a secret ID that is destroyed, leave the tokens', async () => {
    const person = await userpass();
    await must(call('POST', `${person.account}/password`, { password: 'battery staple' }));
    const machine = await approle();
    const { secret_id } = machine;
    await must(call('POST', `${machine.account}/secret-id/destroy`, { secret_id }));
    for (const { token } of [person, machine]) {
      assert.equal((await renew(token)).status, 200);
    }
  });

  const renewals: [
    what: string,
    open: () => Promise<LoggedIn>,
    policies: string[],
    status: number,
  ][] = [
    ['a user with the same policies', userpass, ['Maker'], 200],
    ['a user with the default one named', userpass, ['maker', 'default'], 200],
    ['a user with others', userpass, ['other'], 400],
    ['a user with fewer', userpass, [], 400],
    ['a user with more', userpass, ['maker', 'other'], 400],
    ['a role with the same policies', approle, ['maker'], 200],
    ['a role with others', approle, ['other'], 400],
    ['a role with more', approle, ['maker', 'other'], 200],
  ];

  for (const [what, open, token_policies, status] of renewals) {
    test(`the log-in of ${what} is ${status === 200 ? '' : 'not '}renewed`, async () => {
      const on = await open();
      await must(call('POST', on.account, { token_policies }));
      const renewed = await renew(on.token);
      assert.equal(renewed.status, status, renewed.text);
      if (status !== 200) assert.match(renewed.text, /policies have changed, not renewing/);
      assert.equal(await statusOf(on.token), 200);
    });
  }

  // The requests come from 127.0.0.1.
  const narrowed: [to: object, self: number, byAccessor: number][] = [
    [{ token_bound_cidrs: '127.0.0.1/32' }, 200, 400],
    [{ token_bound_cidrs: '10.9.0.0/16,127.0.0.0/8' }, 200, 400],
    [{ token_bound_cidrs: '10.9.0.0/16' }, 400, 400],
    [{ token_bound_cidrs: '127.0.0.2/32' }, 400, 400],
    [{ token_bound_cidrs: '' }, 200, 200],
    [{ token_strictly_bind_ip: true }, 400, 400],
    [{ token_strictly_bind_ip: false }, 200, 200],
    // These are the log-in's own.
    [{ token_num_uses: 1 }, 200, 200],
    [{ token_no_default_policy: true }, 200, 200],
    [{ token_type: 'batch', token_period: 0 }, 200, 200],
  ];
  for (const [engine, open] of [
    ['userpass', userpass],
    ['approle', approle],
  ] as const) {
    for (const [to, self, byAccessor] of narrowed) {
      test(`a log-in by ${engine} is renewed as an account with ${JSON.stringify(to)} allows`, async () => {
        const on = await open({ token_period: '1h' });
        const { token } = on;
        const found = await call('GET', 'auth/token/lookup-self', undefined, { token });
        await must(call('POST', on.account, to));
        assert.equal((await renew(token)).status, self);
        assert.equal((await call('POST', 'auth/token/renew', { token })).status, self);
        const accessor = found.textAt('data.accessor');
        const renewed = await call('POST', 'auth/token/renew-accessor', { accessor });
        assert.equal(renewed.status, byAccessor, renewed.text);
        assert.equal(await statusOf(token), 200);
      });
    }
  }

  test('a renewal goes by what the account says of lifetimes by now', async () => {
    const on = await userpass({ token_period: '24h' });
    assert.equal((await renew(on.token)).field('auth.lease_duration'), 86_400);
    await must(call('POST', on.account, { token_period: '1h' }));
    assert.equal((await renew(on.token)).field('auth.lease_duration'), 3600);
    await must(
      call('POST', on.account, { token_period: 0, token_max_ttl: '30m', token_ttl: '1m' }),
    );
    const duration = Number((await renew(on.token)).field('auth.lease_duration'));
    assert.ok(duration > 1700 && duration <= 1800, `${duration}`);
  });

  test('a token of a token role that is gone is not renewed, and of another one by that', async () => {
    await must(call('POST', 'auth/token/roles/periodic', { token_period: '24h' }));
    const body = { policies: ['maker'] };
    const made = await must(call('POST', 'auth/token/create/periodic', body));
    const token = made.textAt('auth.client_token');
    assert.equal((await renew(token)).field('auth.lease_duration'), 86_400);
    await must(call('POST', 'auth/token/roles/periodic', { token_period: '1h' }));
    assert.equal((await renew(token)).field('auth.lease_duration'), 3600);
    await must(call('DELETE', 'auth/token/roles/periodic'));
    const refused = await renew(token);
    assert.equal(refused.status, 400);
    assert.match(refused.text, /original token role .* could not be found, not renewing/);
    assert.equal(await statusOf(token), 200);
  });
});
