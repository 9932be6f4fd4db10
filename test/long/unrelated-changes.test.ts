import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { bumpConfigVersion } from '../../src/store/config-version.ts';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { cpuUntil } from '../support/cpu-time.ts';
import { copyIssuer, copyKey } from '../support/full-mount.ts';
import { holdBounds } from '../support/machine.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { must } from '../support/racing.ts';
import { startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';
import { LONGEST_TURN, longestTurn } from '../support/turns.ts';

/** Whoever changes some configuration makes nobody wait for all the rest of it, however much there is. */

const broker = await startBroker({ after });
const { client, admin, make, nobody } = broker;
const { call } = client;
const { store } = client.running.app;

/** Milliseconds of CPU time of all until somebody is answered. */
const WHOLE = 150;

const MOUNTS = 5000;
/** A few are left for those that are made. */
const SCOPES_OF_ORG = 9_980;
const ORGS = 5;
const GROUPS = 20_000;
const POLICIES = 5000;
const ISSUERS = 1000;

const ofMount = { id: numbered('id'), path: numbered('path'), accessor: numbered('accessor') };

async function fillMounts(): Promise<void> {
  await must(call('POST', 'sys/mounts/team', { type: 'pki' }));
  await must(call('POST', 'sys/auth/up', { type: 'userpass' }));
  for (const [kind, path] of [
    ['secret', 'team/'],
    ['auth', 'up/'],
  ] as const) {
    await copyRow(store, 'mount', { of: { kind, path }, copies: MOUNTS - 20, changes: ofMount });
  }
}

async function fillAuthorities(): Promise<void> {
  for (const mount of ['one', 'two']) {
    await must(call('POST', `sys/mounts/${mount}`, { type: 'pki' }));
    const root = { common_name: 'R', key_type: 'ec', issuer_name: mount, key_name: mount };
    await must(call('POST', `${mount}/root/generate/internal`, root));
    const role = { allow_any_name: true, key_type: 'ec', ttl: '1h' };
    await must(call('POST', `${mount}/roles/r`, role));
    await must(call('POST', `${mount}/roles/long`, { ...role, allowed_domains: domains(9000) }));
    await copyIssuer(client, mount, ISSUERS - 1);
    await copyKey(client, mount, ISSUERS - 1);
  }
}

const domains = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${'x'.repeat(84)}${at}.ex.com`);

/** A group in each group, some of them in long lines. */
async function fillGroups(): Promise<void> {
  await must(call('POST', 'identity/group', { name: 'group', policies: ['p'] }));
  const changes = {
    id: sql`'g' || (1000000 + n.i)`,
    name: numbered('name'),
    name_key: numbered('name_key'),
  };
  await copyRow(store, 'identity_group', { of: { name: 'group' }, copies: GROUPS, changes });
  const link = sql`insert into identity_group_member (group_id, kind, member_id)
    select id, 'group', 'g' || (substr(id, 2) + 1) from identity_group
    where id like 'g1%' and substr(id, 2) % 30 <> 0 and substr(id, 2) + 1 <= 1000000 + ${sql.lit(GROUPS)}`;
  await store.commit([write({ compile: () => link.compile(build) }), bumpConfigVersion()]);
}

async function fillPolicies(): Promise<void> {
  const policy = 'path "one/*" { capabilities = ["read", "update"] }';
  await must(call('POST', 'sys/policies/acl/p', { policy }));
  const copies = { of: { name: 'p' }, copies: POLICIES, changes: { name: numbered('name') } };
  await copyRow(store, 'policy', copies);
}

async function fillScopes(): Promise<void> {
  for (let at = 0; at < ORGS; at += 1) {
    const org = await make('scopes', { scope_id: 'global', type: 'org', name: `org ${at}` });
    const project = await make('scopes', { scope_id: org, name: 'project' });
    const changes = { id: sql`${sql.ref('id')} || (1000000 + n.i)`, name: sql`'n' || n.i` };
    const copies = SCOPES_OF_ORG - 2;
    await copyRow(store, 'resource', { of: { id: project }, copies, changes });
  }
}

let person = '';

before(async () => {
  await fillMounts();
  await fillAuthorities();
  await fillGroups();
  await fillPolicies();
  await fillScopes();
  const policies = Array.from({ length: 100 }, (_, at) => `${1_000_001 + at}-p`);
  await must(call('POST', 'auth/up/users/u', { password: 'p', token_policies: policies }));
  const logIn = await must(call('POST', 'auth/up/login/u', { password: 'p' }));
  person = logIn.textAt('auth.client_token');
});

/** What others ask for right afterwards. */
const ASKS: [what: string, ask: () => Promise<Reply>][] = [
  ['auth methods, by nobody', () => nobody('GET', 'auth-methods?scope_id=global')],
  ['scopes, by nobody', () => nobody('GET', 'scopes?scope_id=global')],
  ['a certificate of a CA, by nobody', () => call('GET', 'one/ca/pem', undefined, { token: '' })],
  ['a CRL, by nobody', () => call('GET', 'one/crl', undefined, { token: '' })],
  ['a token, by itself', () => call('GET', 'auth/token/lookup-self', undefined, { token: person })],
  [
    'a certificate, by a person',
    () => call('POST', 'one/issue/r', { common_name: 'a.test' }, { token: person }),
  ],
  ['users, by an administrator', () => admin('GET', 'users?scope_id=global')],
];

let made = 0;
const next = (): string => `n${made++}`;

/** Changes of other things. */
const CHANGES: [what: string, change: () => Promise<Reply>][] = [
  ['an entity', () => call('POST', 'identity/entity', { name: next() })],
  ['a user of the broker', () => admin('POST', 'users', { scope_id: 'global', name: next() })],
  ['a role of the broker', () => admin('POST', 'roles', { scope_id: 'global', name: next() })],
  ['a role of a CA', () => call('POST', `two/roles/${next()}`, {})],
  [
    'the URLs of a CA',
    () => call('POST', 'two/config/urls', { ocsp_servers: [`http://${next()}.test`] }),
  ],
  [
    'a policy',
    () =>
      call('POST', `sys/policies/acl/${next()}`, {
        policy: 'path "x" { capabilities = ["read"] }',
      }),
  ],
  ['a mount that is tuned', () => call('POST', 'sys/mounts/two/tune', { description: next() })],
  ['a group', () => call('POST', 'identity/group', { name: next() })],
  ['a scope', () => admin('POST', 'scopes', { scope_id: 'global', type: 'org', name: next() })],
];

for (const [what, change] of CHANGES) {
  for (const [asked, ask] of ASKS) {
    test(`${asked}: asked for after a change of ${what}`, async () => {
      await holdBounds({ turn: LONGEST_TURN, whole: WHOLE }, async () => {
        await must(ask());
        await must(change());
        let [status, turn] = [0, 0];
        const whole = await cpuUntil(async () => {
          turn = await longestTurn(async () => {
            status = (await ask()).status;
          });
        });
        assert.ok(status < 300, `${status}`);
        return { turn, whole };
      });
    });
  }
}
