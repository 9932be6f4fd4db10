// What ends with a removal on the Vault API, and what is being made at that moment.

import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { CommitHolder } from '../support/held-commit.ts';
import { makeCsr } from '../support/leaves.ts';
import { type Bench, callAs, must, type Race, type RaceCase, raceAll } from '../support/racing.ts';
import { type Reply, startTestServer } from '../support/server.ts';

const ROLE = { allow_any_name: true, key_type: 'ec', ttl: '1h' };

/** A CA with a role, at a path of its own. */
async function mountAuthority({ maker, next }: Bench, role: object = {}): Promise<string> {
  const path = `pki${next()}`;
  await must(maker.call('POST', `sys/mounts/${path}`, { type: 'pki' }));
  const root = { common_name: 'Root', key_type: 'ec' };
  await must(maker.call('POST', `${path}/root/generate/internal`, root));
  await must(maker.call('POST', `${path}/roles/web`, { ...ROLE, ...role }));
  return path;
}

/** A token with a policy of its own that allows everything, from which others are not. */
async function newToken(
  bench: Bench,
  more: object = {},
): Promise<{ token: string; policy: string }> {
  const policy = `all${bench.next()}`;
  const text = 'path "*" { capabilities = ["create", "read", "update", "delete", "list", "sudo"] }';
  await must(bench.maker.call('PUT', `sys/policies/acl/${policy}`, { policy: text }));
  const made = await must(
    bench.maker.call('POST', 'auth/token/create', { policies: [policy], ...more }),
  );
  return { token: made.textAt('auth.client_token'), policy };
}

/** Issues a certificate, as somebody whose token and policy are known. */
async function issuing(
  bench: Bench,
  remove: (at: { mount: string; token: string; policy: string }) => Promise<Reply>,
  more: { role?: object; ended?: (at: { mount: string; made: Reply }) => Promise<void> } = {},
): Promise<Race> {
  const mount = await mountAuthority(bench, more.role);
  const { token, policy } = await newToken(bench);
  const path = `${mount}/issue/web`;
  return {
    path,
    make: () => callAs(bench.maker.call, token)('POST', path, { common_name: 'a.test' }),
    remove: () => remove({ mount, token, policy }),
    ...(more.ended ? { ended: async (made) => more.ended?.({ mount, made }) } : {}),
  };
}

const issuance: RaceCase[] = [
  {
    name: 'an issuance and its mount',
    refused: [404],
    setUp: (bench) =>
      issuing(bench, ({ mount }) => bench.remover.call('DELETE', `sys/mounts/${mount}`)),
  },
  {
    name: 'an issuance and the place of its mount',
    refused: [404],
    setUp: (bench) =>
      issuing(bench, ({ mount }) =>
        bench.remover.call('POST', 'sys/remount', { from: mount, to: `moved-${mount}` }),
      ),
  },
  {
    name: 'an issuance and its role',
    refused: [400],
    setUp: (bench) =>
      issuing(bench, ({ mount }) => bench.remover.call('DELETE', `${mount}/roles/web`)),
  },
  {
    name: 'an issuance and what its role allows',
    refused: [400],
    setUp: (bench) =>
      issuing(bench, ({ mount }) =>
        bench.remover.call('POST', `${mount}/roles/web`, { ...ROLE, allow_any_name: false }),
      ),
  },
  {
    name: 'an issuance and its issuer',
    refused: [400, 500],
    setUp: (bench) =>
      issuing(bench, ({ mount }) => bench.remover.call('DELETE', `${mount}/issuer/default`)),
  },
  {
    name: 'an issuance and what its issuer is for',
    refused: [400, 500],
    setUp: (bench) =>
      issuing(bench, ({ mount }) =>
        bench.remover.call('POST', `${mount}/issuer/default`, { usage: 'read-only' }),
      ),
  },
  {
    name: 'an issuance and the token that asks for it',
    refused: [403],
    setUp: (bench) =>
      issuing(bench, ({ token }) => bench.remover.call('POST', 'auth/token/revoke', { token })),
  },
  {
    name: 'an issuance and the policy that allows it',
    refused: [403],
    setUp: (bench) =>
      issuing(bench, ({ policy }) => bench.remover.call('DELETE', `sys/policies/acl/${policy}`)),
  },
  {
    name: 'an issuance with a lease and its token',
    refused: [403],
    setUp: (bench) =>
      issuing(bench, ({ token }) => bench.remover.call('POST', 'auth/token/revoke', { token }), {
        role: { generate_lease: true },
        ended: async ({ mount, made }) => {
          const path = `${mount}/cert/${made.textAt('data.serial_number')}`;
          const read = await bench.remover.call('GET', path);
          assert.notEqual(read.field('data.revocation_time'), 0);
        },
      }),
  },
];

/** A CSR that is signed. */
function signing(name: string, remove: (bench: Bench, mount: string) => Promise<Reply>): RaceCase {
  return {
    name: `a signature and ${name}`,
    refused: [400, 500],
    async setUp(bench) {
      const mount = await mountAuthority(bench);
      const path = `${mount}/sign/web`;
      const body = { csr: makeCsr({ subject: { common_name: 'a.test' } }) };
      return {
        path,
        make: () => bench.maker.call('POST', path, body),
        remove: () => remove(bench, mount),
      };
    },
  };
}

const signatures: RaceCase[] = [
  signing('its role', ({ remover }, mount) => remover.call('DELETE', `${mount}/roles/web`)),
  signing('what its role allows', ({ remover }, mount) =>
    remover.call('POST', `${mount}/roles/web`, { ...ROLE, allow_any_name: false }),
  ),
  signing('its issuer', ({ remover }, mount) => remover.call('DELETE', `${mount}/issuer/default`)),
  signing('what its issuer is for', ({ remover }, mount) =>
    remover.call('POST', `${mount}/issuer/default`, { usage: 'read-only' }),
  ),
  signing('every issuer and key', ({ remover }, mount) => remover.call('DELETE', `${mount}/root`)),
];

/** A certificate is as what it rests on is when it is durable. */
const changed: RaceCase[] = [
  {
    name: 'an issuance and the default issuer',
    refused: [],
    judge: (made) => assert.equal(commonNameOf(made.textAt('data.issuing_ca')), 'CN=Other'),
    setUp: (bench) =>
      issuing(bench, async ({ mount }) => {
        const root = { common_name: 'Other', key_type: 'ec', issuer_name: 'other' };
        await must(bench.remover.call('POST', `${mount}/root/generate/internal`, root));
        return bench.remover.call('POST', `${mount}/config/issuers`, { default: 'other' });
      }),
  },
  {
    name: 'an issuance and the addresses that its authority names',
    refused: [],
    judge: (made) =>
      assert.match(
        new X509Certificate(made.textAt('data.certificate')).infoAccess ?? '',
        /a\.test/,
      ),
    setUp: (bench) =>
      issuing(bench, ({ mount }) =>
        bench.remover.call('POST', `${mount}/config/urls`, { ocsp_servers: ['http://a.test'] }),
      ),
  },
  {
    name: 'an issuance and how long its mount lets things be',
    refused: [],
    judge: (made) => {
      const { validFromDate, validToDate } = new X509Certificate(made.textAt('data.certificate'));
      // Certificates begin half a minute before they are made.
      assert.ok(validToDate.getTime() - validFromDate.getTime() <= 90_000, made.text);
    },
    setUp: (bench) =>
      issuing(bench, ({ mount }) =>
        bench.remover.call('POST', `sys/mounts/${mount}/tune`, { max_lease_ttl: '60s' }),
      ),
  },
  {
    name: 'an issuance and what the policy allows',
    refused: [403],
    setUp: (bench) =>
      issuing(bench, ({ policy, mount }) =>
        bench.remover.call('PUT', `sys/policies/acl/${policy}`, {
          policy: `path "${mount}/*" { capabilities = ["update"] denied_parameters = { common_name = ["a.test"] } }`,
        }),
      ),
  },
];

const commonNameOf = (pem: string): string => new X509Certificate(pem).subject;

/** Something that is written into a CA, while it is removed. */
function writing(name: string, write: (mount: string) => [path: string, body: object]): RaceCase {
  return {
    name: `${name} and its mount`,
    refused: [404],
    async setUp(bench) {
      const mount = await mountAuthority(bench);
      const [path, body] = write(mount);
      return {
        path,
        make: () => bench.maker.call('POST', path, body),
        remove: () => bench.remover.call('DELETE', `sys/mounts/${mount}`),
      };
    },
  };
}

const writings = [
  writing('a role', (mount) => [`${mount}/roles/other`, ROLE]),
  writing('a root', (mount) => [
    `${mount}/root/generate/internal`,
    { common_name: 'Other', key_type: 'ec' },
  ]),
  writing('a key', (mount) => [`${mount}/keys/generate/internal`, { key_type: 'ec' }]),
  writing('the addresses of a CA', (mount) => [
    `${mount}/config/urls`,
    { ocsp_servers: ['http://a.test'] },
  ]),
  writing('the rules of its CRLs', (mount) => [`${mount}/config/crl`, { expiry: '48h' }]),
  {
    name: 'a revocation and its mount',
    refused: [404],
    async setUp(bench: Bench) {
      const mount = await mountAuthority(bench);
      const body = { common_name: 'a.test' };
      const issued = await must(bench.maker.call('POST', `${mount}/issue/web`, body));
      const serial_number = issued.textAt('data.serial_number');
      return {
        path: `${mount}/revoke`,
        make: () => bench.maker.call('POST', `${mount}/revoke`, { serial_number }),
        remove: () => bench.remover.call('DELETE', `sys/mounts/${mount}`),
      };
    },
  },
];

/** A token that stands for nothing any more. */
async function refuseToken({ remover }: Bench, token: string): Promise<void> {
  const self = await remover.call('GET', 'auth/token/lookup-self', undefined, { token });
  assert.equal(self.status, 403, self.text);
}

const tokenEnds =
  (bench: Bench) =>
  (made: Reply): Promise<void> =>
    refuseToken(bench, made.textAt('auth.client_token'));

/** A user of userpass on a mount of its own. */
async function mountUser(bench: Bench): Promise<string> {
  const path = `up${bench.next()}`;
  await must(bench.maker.call('POST', `sys/auth/${path}`, { type: 'userpass' }));
  await must(bench.maker.call('POST', `auth/${path}/users/ann`, { password: 'correct horse' }));
  return path;
}

function logIn(
  name: string,
  refused: number[],
  remove: (bench: Bench, mount: string) => Promise<Reply>,
  ends = false,
): RaceCase {
  return {
    name: `a log-in by password and ${name}`,
    refused,
    async setUp(bench) {
      const mount = await mountUser(bench);
      const path = `auth/${mount}/login/ann`;
      const body = { password: 'correct horse' };
      return {
        path,
        make: () => bench.maker.call('POST', path, body, { token: '' }),
        remove: () => remove(bench, mount),
        ...(ends ? { ended: tokenEnds(bench) } : {}),
      };
    },
  };
}

const entityOf = async ({ remover }: Bench, accessor: string, name: string): Promise<string> => {
  const lookup = { alias_name: name, alias_mount_accessor: accessor };
  return (await must(remover.call('POST', 'identity/lookup/entity', lookup))).textAt('data.id');
};

/** A log-in of somebody who was here before. */
function returning(name: string, change: (bench: Bench, id: string) => Promise<Reply>): RaceCase {
  return {
    name: `a log-in by password and ${name}`,
    refused: [400],
    async setUp(bench) {
      const mount = await mountUser(bench);
      const path = `auth/${mount}/login/ann`;
      const make = () =>
        bench.maker.call('POST', path, { password: 'correct horse' }, { token: '' });
      await must(make());
      const mounts = await must(bench.maker.call('GET', `sys/auth/${mount}`));
      const id = await entityOf(bench, mounts.textAt('accessor'), 'ann');
      return { path, make, remove: () => change(bench, id), ended: tokenEnds(bench) };
    },
  };
}

/** A log-in of somebody who was here before, and is no longer called so: it is somebody else's. */
function renamed(name: string, change: (bench: Bench, alias: string) => Promise<Reply>): RaceCase {
  let before = '';
  return {
    name: `a log-in by password and ${name}`,
    refused: [400],
    judge(made) {
      assert.equal(made.status, 200, made.text);
      assert.notEqual(made.textAt('auth.entity_id'), before);
    },
    async setUp(bench) {
      const mount = await mountUser(bench);
      const path = `auth/${mount}/login/ann`;
      const make = () =>
        bench.maker.call('POST', path, { password: 'correct horse' }, { token: '' });
      before = (await must(make())).textAt('auth.entity_id');
      const entity = await must(bench.maker.call('GET', `identity/entity/id/${before}`));
      const [alias] = entity.field('data.aliases') as { id: string }[];
      return {
        path,
        make,
        remove: () => change(bench, alias?.id ?? ''),
        ended: async (made) => {
          // At once, the other one may have been quicker.
          if (made.textAt('auth.entity_id') === before) await tokenEnds(bench)(made);
        },
      };
    },
  };
}

/** A role of AppRole on a mount of its own, and what logs in by it. */
function approle(
  name: string,
  remove: (bench: Bench, at: { mount: string; secret_id: string }) => Promise<Reply>,
  ends = false,
): RaceCase {
  return {
    name: `a machine's log-in and ${name}`,
    refused: [400, 404],
    async setUp(bench) {
      const mount = `ar${bench.next()}`;
      await must(bench.maker.call('POST', `sys/auth/${mount}`, { type: 'approle' }));
      const role = `auth/${mount}/role/web`;
      await must(bench.maker.call('POST', role, { token_policies: ['default'] }));
      const role_id = (await must(bench.maker.call('GET', `${role}/role-id`))).textAt(
        'data.role_id',
      );
      const secret = await must(bench.maker.call('POST', `${role}/secret-id`, {}));
      const secret_id = secret.textAt('data.secret_id');
      const path = `auth/${mount}/login`;
      return {
        path,
        make: () => bench.maker.call('POST', path, { role_id, secret_id }, { token: '' }),
        remove: () => remove(bench, { mount, secret_id }),
        ...(ends ? { ended: tokenEnds(bench) } : {}),
      };
    },
  };
}

const logIns: RaceCase[] = [
  logIn(
    'its mount',
    [404],
    ({ remover }, mount) => remover.call('DELETE', `sys/auth/${mount}`),
    true,
  ),
  logIn(
    'its user',
    [400],
    ({ remover }, mount) => remover.call('DELETE', `auth/${mount}/users/ann`),
    true,
  ),
  renamed('its alias, removed', ({ remover }, alias) =>
    remover.call('DELETE', `identity/entity-alias/id/${alias}`),
  ),
  renamed('its alias, called otherwise', ({ remover }, alias) =>
    remover.call('POST', `identity/entity-alias/id/${alias}`, { name: 'bob' }),
  ),
  renamed("its alias, by now somebody else's", async ({ remover }, alias) => {
    const other = await must(remover.call('POST', 'identity/entity', {}));
    const canonical_id = other.textAt('data.id');
    return remover.call('POST', `identity/entity-alias/id/${alias}`, { canonical_id });
  }),
  logIn('its password', [400], ({ remover }, mount) =>
    remover.call('POST', `auth/${mount}/users/ann/password`, { password: 'battery staple' }),
  ),
  {
    // Made, and by what the user may do by then.
    ...logIn('what the user may do', [400], ({ remover }, mount) =>
      remover.call('POST', `auth/${mount}/users/ann`, { token_policies: ['less'] }),
    ),
    judge: ({ status, text }) => {
      assert.equal(status, 200, text);
      assert.match(text, /"policies":\["default","less"\],"token_policies"/);
    },
  },
  returning('its entity, disabled', ({ remover }, id) =>
    remover.call('POST', `identity/entity/id/${id}`, { disabled: true }),
  ),
  approle(
    'its role',
    ({ remover }, { mount }) => remover.call('DELETE', `auth/${mount}/role/web`),
    true,
  ),
  approle(
    'the ID of its role',
    ({ remover }, { mount }) =>
      remover.call('POST', `auth/${mount}/role/web/role-id`, { role_id: 'another' }),
    true,
  ),
  approle('its secret ID', ({ remover }, { mount, secret_id }) =>
    remover.call('POST', `auth/${mount}/role/web/secret-id/destroy`, { secret_id }),
  ),
  approle('what its role allows', ({ remover }, { mount }) =>
    remover.call('POST', `auth/${mount}/role/web`, { token_bound_cidrs: ['192.0.2.0/24'] }),
  ),
  approle('its mount', ({ remover }, { mount }) => remover.call('DELETE', `sys/auth/${mount}`)),
  {
    name: 'a secret ID and its role',
    refused: [400, 404],
    async setUp(bench) {
      const mount = `ar${bench.next()}`;
      await must(bench.maker.call('POST', `sys/auth/${mount}`, { type: 'approle' }));
      const role = `auth/${mount}/role/web`;
      await must(bench.maker.call('POST', role, {}));
      return {
        path: `${role}/secret-id`,
        make: () => bench.maker.call('POST', `${role}/secret-id`, {}),
        remove: () => bench.remover.call('DELETE', role),
      };
    },
  },
];

/** Two of one name would be in each other's way. */
const OWN_NAME = /late$/;

/** Something made with a token that is revoked meanwhile. */
function byToken(
  name: string,
  request: [method: string, place: string, body: object, headers?: Record<string, string>],
  ends?: (bench: Bench, made: Reply) => Promise<void>,
): RaceCase {
  const [method, place, body, headers = {}] = request;
  return {
    name: `${name} and the token that asks for it`,
    refused: [403],
    async setUp(bench) {
      const { token } = await newToken(bench);
      const path = `${place}${OWN_NAME.test(place) ? bench.next() : ''}`;
      return {
        path,
        make: () => bench.maker.call(method, path, body, { token, headers }),
        remove: () => bench.remover.call('POST', 'auth/token/revoke', { token }),
        ...(ends ? { ended: (made) => ends(bench, made) } : {}),
      };
    },
  };
}

const tokens: RaceCase[] = [
  byToken('a child', ['POST', 'auth/token/create', { policies: ['default'] }], (bench, made) =>
    refuseToken(bench, made.textAt('auth.client_token')),
  ),
  byToken('an orphan', ['POST', 'auth/token/create-orphan', { policies: ['default'] }]),
  byToken('a batch token', ['POST', 'auth/token/create', { type: 'batch' }], (bench, made) =>
    refuseToken(bench, made.textAt('auth.client_token')),
  ),
  byToken('a wrapped answer', [
    'POST',
    'sys/wrapping/wrap',
    { a: 'b' },
    { 'x-vault-wrap-ttl': '60' },
  ]),
  byToken('an entry of its own', ['POST', 'cubbyhole/mine', { a: 'b' }]),
  byToken('a policy', ['PUT', 'sys/policies/acl/late', { policy: 'path "x" {}' }]),
  byToken('a mount', ['POST', 'sys/mounts/late', { type: 'pki' }]),
  byToken('an entity', ['POST', 'identity/entity', { metadata: { a: 'b' } }]),
  {
    name: 'a token and the role that it is made by',
    refused: [400],
    async setUp(bench) {
      const role = `role${bench.next()}`;
      await must(bench.maker.call('POST', `auth/token/roles/${role}`, { orphan: true }));
      const path = `auth/token/create/${role}`;
      return {
        path,
        make: () => bench.maker.call('POST', path, { policies: ['default'] }),
        remove: () => bench.remover.call('DELETE', `auth/token/roles/${role}`),
      };
    },
  },
  {
    name: 'a request and the entity of its token',
    refused: [403],
    async setUp(bench) {
      const mount = await mountUser(bench);
      const policy = `all${bench.next()}`;
      const text = 'path "*" { capabilities = ["create", "update", "sudo"] }';
      await must(bench.maker.call('PUT', `sys/policies/acl/${policy}`, { policy: text }));
      const user = `auth/${mount}/users/ann`;
      await must(bench.maker.call('POST', user, { token_policies: [policy] }));
      const body = { password: 'correct horse' };
      const in_ = await must(bench.maker.call('POST', `auth/${mount}/login/ann`, body));
      const token = in_.textAt('auth.client_token');
      const id = in_.textAt('auth.entity_id');
      return {
        path: 'auth/token/create-orphan',
        make: () => bench.maker.call('POST', 'auth/token/create-orphan', {}, { token }),
        remove: () => bench.remover.call('DELETE', `identity/entity/id/${id}`),
      };
    },
  },
  {
    name: 'an alias and the mount that it is of',
    refused: [400],
    async setUp(bench) {
      const mount = await mountUser(bench);
      const read = await must(bench.maker.call('GET', `sys/auth/${mount}`));
      const body = { name: 'bob', mount_accessor: read.textAt('accessor') };
      return {
        path: 'identity/entity-alias',
        make: () => bench.maker.call('POST', 'identity/entity-alias', body),
        remove: () => bench.remover.call('DELETE', `sys/auth/${mount}`),
        ended: async (made) => {
          const alias = `identity/entity-alias/id/${made.textAt('data.id')}`;
          assert.equal((await bench.remover.call('GET', alias)).status, 404);
        },
      };
    },
  },
  {
    name: 'a group and its member',
    refused: [400],
    async setUp(bench) {
      const entity = await must(bench.maker.call('POST', 'identity/entity', {}));
      const id = entity.textAt('data.id');
      return {
        path: 'identity/group',
        make: () => bench.maker.call('POST', 'identity/group', { member_entity_ids: [id] }),
        remove: () => bench.remover.call('DELETE', `identity/entity/id/${id}`),
        ended: async (made) => {
          const group = `identity/group/id/${made.textAt('data.id')}`;
          const read = await must(bench.remover.call('GET', group));
          assert.deepEqual(read.field('data.member_entity_ids') ?? [], []);
        },
      };
    },
  },
];

/** Leases that are ended by somebody whose token is revoked meanwhile: their certificates stay. */
function endingLeases(
  name: string,
  request: (lease_id: string) => [path: string, body: object],
): RaceCase {
  return {
    name: `${name} and the token that asks for it`,
    refused: [403],
    async setUp(bench) {
      const mount = await mountAuthority(bench, { generate_lease: true });
      const body = { common_name: 'a.test' };
      const issued = await must(bench.maker.call('POST', `${mount}/issue/web`, body));
      const [path, sent] = request(issued.textAt('lease_id'));
      const { token } = await newToken(bench);
      return {
        path,
        make: () => bench.maker.call('PUT', path, sent, { token }),
        remove: () => bench.remover.call('POST', 'auth/token/revoke', { token }),
        left: async () => {
          const serial = issued.textAt('data.serial_number');
          const read = await must(bench.remover.call('GET', `${mount}/cert/${serial}`));
          assert.equal(read.field('data.revocation_time'), 0);
        },
      };
    },
  };
}

const leases: RaceCase[] = [
  endingLeases('the end of a lease at once', (lease_id) => [
    'sys/leases/revoke',
    { lease_id, sync: true },
  ]),
  endingLeases('the end of a lease later', (lease_id) => [
    'sys/leases/revoke',
    { lease_id, sync: false },
  ]),
  endingLeases('the end of leases by their prefix', (lease_id) => [
    `sys/leases/revoke-prefix/${lease_id.slice(0, lease_id.lastIndexOf('/'))}`,
    { sync: true },
  ]),
  endingLeases('the end of leases by force', (lease_id) => [
    `sys/leases/revoke-force/${lease_id.slice(0, lease_id.lastIndexOf('/'))}`,
    {},
  ]),
  endingLeases('the end of what is due', () => ['sys/leases/tidy', {}]),
];

raceAll('who ends leases', leases);
raceAll('what is made with a CA', [...issuance, ...signatures, ...changed, ...writings]);
raceAll('who logs in', logIns);
raceAll('what is made with a token', tokens);

test('what was begun before a sealing is not answered after it', async (t) => {
  const holder = new CommitHolder();
  const client = await startTestServer(t, { store: holder.over });
  const { call } = client;
  await must(call('POST', 'demo/root/generate/internal', { common_name: 'R', key_type: 'ec' }));
  await must(call('POST', 'demo/roles/web', ROLE));
  const held = holder.hold('demo/issue/web');
  const making = call('POST', 'demo/issue/web', { common_name: 'a.test' });
  await held.reached;
  const sealed = await call('PUT', 'sys/seal').finally(held.letGo);
  const made = await making;
  assert.equal(sealed.status, 204, sealed.text);
  assert.equal(made.status, 503, made.text);
  assert.doesNotMatch(made.text, /BEGIN/);
});
