// Whoever ends tokens ends the leases of these and no others, and its record tells of no others.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { deleteTree } from '../../src/access/tokens/ending.store.ts';
import { removeEnded, tidyTokens } from '../../src/access/tokens/expiration.operations.ts';
import { tokenId } from '../../src/access/tokens/minting.operations.ts';
import type { App } from '../../src/app/app.ts';
import { eachPlace } from '../support/engines.ts';
import { endDue } from '../support/job-work.ts';
import { inReverse } from '../support/node-process.ts';
import { startServerAt } from '../support/placed-server.ts';
import { must } from '../support/racing.ts';
import type { Client, Reply } from '../support/server.ts';

const ISSUER = `path "pki/issue/web" { capabilities = ["update"] }
path "auth/token/create" { capabilities = ["update"] }
path "auth/+/users/ann" { capabilities = ["delete"] }`;

/** Somebody who has leases, and how they are ended. */
interface Holder {
  token: string;
  path: string;
  /** Whether there can be tokens that descend from it. */
  mayMake: boolean;
  end(): Promise<Reply>;
}

eachPlace('the leases of others', (newPlace) => {
  const scope = inReverse({ after });
  let app: App;
  let call: Client['call'];
  let count = 0;

  before(async () => {
    const client = await startServerAt(scope, await newPlace());
    ({ call } = client);
    ({ app } = client.running);
    await must(call('PUT', 'sys/policies/acl/issuer', { policy: ISSUER }));
    await must(call('POST', 'sys/mounts/pki', { type: 'pki' }));
    const key_type = 'ed25519';
    await must(call('POST', 'pki/root/generate/internal', { common_name: 'R', key_type }));
    const role = { allow_any_name: true, key_type, ttl: '1h', generate_lease: true };
    await must(call('POST', 'pki/roles/web', role));
  });

  const issue = async (token: string): Promise<string> =>
    (await must(call('POST', 'pki/issue/web', { common_name: 'a.test' }, { token }))).textAt(
      'lease_id',
    );
  const newToken = async (token?: string): Promise<Reply> =>
    must(
      call(
        'POST',
        'auth/token/create',
        { policies: ['issuer'] },
        token === undefined ? {} : { token },
      ),
    );

  async function tokenEndedBy(verb: string, field?: 'token' | 'accessor'): Promise<Holder> {
    const made = await newToken();
    const token = made.textAt('auth.client_token');
    const sent = {
      none: {},
      token: { token },
      accessor: { accessor: made.textAt('auth.accessor') },
    }[field ?? 'none'];
    const path = `auth/token/${verb}`;
    const end = () => call('POST', path, sent, field ? {} : { token });
    return { token, path, mayMake: true, end };
  }

  type LoggedIn = { token: string; entity_id: string; mount: string; account: string };

  async function userpass(token_type = 'service'): Promise<LoggedIn> {
    const mount = `up${++count}`;
    await must(call('POST', `sys/auth/${mount}`, { type: 'userpass' }));
    const account = `auth/${mount}/users/ann`;
    const password = 'correct horse';
    await must(call('POST', account, { password, token_policies: ['issuer'], token_type }));
    const made = await must(call('POST', `auth/${mount}/login/ann`, { password }, { token: '' }));
    const [token, entity_id] = [made.textAt('auth.client_token'), made.textAt('auth.entity_id')];
    return { token, entity_id, mount, account };
  }

  async function approle(): Promise<LoggedIn> {
    const mount = `ar${++count}`;
    await must(call('POST', `sys/auth/${mount}`, { type: 'approle' }));
    const account = `auth/${mount}/role/web`;
    await must(call('POST', account, { token_policies: ['issuer'] }));
    const role_id = (await must(call('GET', `${account}/role-id`))).textAt('data.role_id');
    const secret = await must(call('POST', `${account}/secret-id`, {}));
    const sent = { role_id, secret_id: secret.textAt('data.secret_id') };
    const made = await must(call('POST', `auth/${mount}/login`, sent, { token: '' }));
    const [token, entity_id] = [made.textAt('auth.client_token'), made.textAt('auth.entity_id')];
    return { token, entity_id, mount, account };
  }

  async function logInEndedBy(
    open: () => Promise<LoggedIn>,
    pathOf: (on: LoggedIn) => string | Promise<string>,
  ): Promise<Holder> {
    const on = await open();
    const path = await pathOf(on);
    return { token: on.token, path, mayMake: true, end: () => call('DELETE', path) };
  }

  const batchEndedBy = async (pathOf: (on: LoggedIn) => string | Promise<string>) => ({
    ...(await logInEndedBy(() => userpass('batch'), pathOf)),
    mayMake: false,
  });

  async function oneself(): Promise<Holder> {
    const { token, account } = await userpass();
    const end = () => call('DELETE', account, undefined, { token });
    return { token, path: account, mayMake: true, end };
  }

  async function aliasOf({ entity_id }: LoggedIn): Promise<string> {
    const entity = await must(call('GET', `identity/entity/id/${entity_id}`));
    const [alias] = entity.field('data.aliases') as { id: string }[];
    return `identity/entity-alias/id/${alias?.id}`;
  }

  async function renamed(token_type: string): Promise<Holder> {
    const on = await userpass(token_type);
    const path = await aliasOf(on);
    const end = () => call('POST', path, { name: 'bob' });
    return { token: on.token, path, mayMake: token_type === 'service', end };
  }

  const holders: [what: string, open: () => Promise<Holder>][] = [
    ['a token that revokes itself', () => tokenEndedBy('revoke-self')],
    ['a token that is revoked', () => tokenEndedBy('revoke', 'token')],
    ['a token that is revoked by its accessor', () => tokenEndedBy('revoke-accessor', 'accessor')],
    [
      'a user that is removed',
      () =>
        logInEndedBy(
          () => userpass(),
          ({ account }) => account,
        ),
    ],
    ['a role that is removed', () => logInEndedBy(approle, ({ account }) => account)],
    ['an alias that is removed', () => logInEndedBy(() => userpass(), aliasOf)],
    [
      'an entity that is removed',
      () =>
        logInEndedBy(
          () => userpass(),
          ({ entity_id }) => `identity/entity/id/${entity_id}`,
        ),
    ],
    ['a mount that is removed', () => logInEndedBy(approle, ({ mount }) => `sys/auth/${mount}`)],
    ['who removes the account that they came in by', oneself],
    ['a user whose alias gets another name', () => renamed('service')],
    ['a user with a batch token whose alias gets another name', () => renamed('batch')],
    ['a user with a batch token who is removed', () => batchEndedBy(({ account }) => account)],
    ['an alias with a batch token that is removed', () => batchEndedBy(aliasOf)],
    [
      'an entity with a batch token that is removed',
      () => batchEndedBy(({ entity_id }) => `identity/entity/id/${entity_id}`),
    ],
    [
      'a mount with batch tokens that is removed',
      () => batchEndedBy(({ mount }) => `sys/auth/${mount}`),
    ],
  ];

  /** How far somebody else's token has been ended when the request comes. */
  const states: [how: string, end: (id: string) => Promise<void>][] = [
    ['was just ended', (id) => app.store.commit([deleteTree(id)])],
    [
      'is removed, and its leases are not',
      async (id) => {
        await app.store.commit([deleteTree(id)]);
        await removeEnded(app, [id]);
      },
    ],
  ];

  interface Told {
    request: { path: string };
    response: { lease_id?: string };
  }

  /** The leases that are told in the records of a path. */
  async function listTold(path: string): Promise<string[]> {
    const rows = await app.db.selectFrom('audit_entry').select('record').execute();
    const records = rows.map(({ record }): Told => JSON.parse(String(record)));
    return records.flatMap(({ request, response }) =>
      request.path === path && response.lease_id !== undefined ? [response.lease_id] : [],
    );
  }

  for (const [what, open] of holders) {
    for (const [how, endOther] of states) {
      test(`${what} ends its own leases, and none of a token that ${how}`, async () => {
        const other = (await newToken()).textAt('auth.client_token');
        const others: string[] = [];
        for (let n = 0; n < 5; n++) others.push(await issue(other));
        const { token, path, mayMake, end } = await open();
        const own = [await issue(token)];
        const next = mayMake ? (await newToken(token)).textAt('auth.client_token') : token;
        own.push(await issue(next));

        await endOther(tokenId(app, other));
        await must(end());
        const told = await listTold(path);
        const ids = [...own, ...others];
        assert.deepEqual(told.filter((id) => ids.includes(id)).sort(), own.sort());

        await tidyTokens(app, { commit: (all) => app.store.commit(all), stopping: false });
        await endDue(app);
        const left = await app.db.selectFrom('lease').select('id').where('id', 'in', ids).execute();
        assert.deepEqual(left, []);
      });
    }
  }
});
