import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startBroker } from '../support/seeded-broker.ts';

// Who may not do something is not told whether it could be done: not by words, not by status.

const broker = await startBroker({ after });
const { client } = broker;
const root = (method: string, path: string, body?: unknown) => client.call(method, path, body);
await root('POST', 'sys/mounts/pki', { type: 'pki' });
await root('POST', 'pki/roles/there', {});
await root('POST', 'sys/auth/up', { type: 'userpass' });
await root('POST', 'auth/up/users/there', { password: 'secret phrase' });
await root('POST', 'sys/auth/ar', { type: 'approle' });
await root('POST', 'auth/ar/role/there', { role_id: 'there' });
await root('POST', 'auth/token/roles/there', {});
await root('POST', 'sys/policies/acl/there', { policy: 'path "a" { capabilities = [] }' });
await root('POST', 'identity/entity', { name: 'there' });
const made = await root('POST', 'auth/token/create', { policies: ['default'], ttl: '1h' });
const token = made.textAt('auth.client_token');
const accessor = made.textAt('auth.accessor');

/** Things that are there, beside such that are not. */
const pairs: [method: string, there: string, absent: string, body?: [object, object]][] = [
  ['GET', 'pki/roles/there', 'pki/roles/absent'],
  ['GET', 'pki/roles/there', 'absent/roles/there'],
  ['LIST', 'pki/roles', 'absent/roles'],
  ['POST', 'pki/issue/there', 'pki/issue/absent', [{}, {}]],
  ['GET', 'pki/config/urls', 'pki/config/absent'],
  ['GET', 'pki/', 'absent/'],
  ['GET', 'auth/up/users/there', 'auth/up/users/absent'],
  ['GET', 'auth/up/users/there', 'auth/absent/users/there'],
  ['DELETE', 'auth/up/users/there', 'auth/absent/users/there'],
  ['GET', 'auth/ar/role/there', 'auth/ar/role/absent'],
  ['GET', 'auth/token/roles/there', 'auth/token/roles/absent'],
  ['GET', 'sys/policies/acl/there', 'sys/policies/acl/absent'],
  ['GET', 'sys/mounts/pki', 'sys/mounts/absent'],
  ['GET', 'sys/mounts', 'sys/absent'],
  ['GET', 'sys/internal/ui/mounts/pki', 'sys/internal/ui/mounts/absent'],
  ['GET', 'identity/entity/name/there', 'identity/entity/name/absent'],
  ['POST', 'identity/lookup/entity', 'identity/lookup/absent', [{ name: 'there' }, {}]],
  [
    'POST',
    'auth/token/lookup-accessor',
    'auth/token/lookup-accessor',
    [{ accessor }, { accessor: 'absent' }],
  ],
  [
    'POST',
    'auth/token/revoke-accessor',
    'auth/token/revoke-accessor',
    [{ accessor }, { accessor: 'absent' }],
  ],
  ['POST', 'auth/token/lookup', 'auth/token/lookup', [{ token }, { token: 'absent' }]],
  ['POST', 'sys/capabilities', 'sys/capabilities', [{ token }, { token: 'absent' }]],
  ['POST', 'sys/capabilities-accessor', 'sys/capabilities-accessor', [{ accessor }, {}]],
  ['OPTIONS', 'pki/roles/there', 'absent/roles/there'],
];
for (const [method, there, absent, [first, second] = [undefined, undefined]] of pairs) {
  const words = there === absent ? there : `${there} and ${absent}`;
  test(`without permission ${method} ${words} are answered alike`, async () => {
    for (const sent of [token, 'unknown', '']) {
      const [one, other] = [
        await client.call(method, there, first, { token: sent }),
        await client.call(method, absent, second, { token: sent }),
      ];
      assert.equal(one.status, 403, one.text);
      assert.equal(other.status, 403, other.text);
      assert.equal(one.text.replaceAll('pki', 'absent'), other.text);
    }
  });
}

/** Log-ins that fail, of somebody who is there and of somebody who is not. */
const logIns: [path: string, there: object, absent: object][] = [
  ['auth/ar/login', { role_id: 'there' }, { role_id: 'absent' }],
  ['auth/ar/login', { role_id: 'there', secret_id: 'x' }, { role_id: 'absent', secret_id: 'x' }],
  ['auth/up/login/{}', { password: 'wrong' }, { password: 'wrong' }],
  ['auth/up/login/{}', {}, {}],
  [
    `auth-methods/${broker.auth_method}:authenticate`,
    { attributes: { login_name: 'admin', password: 'wrong' } },
    { attributes: { login_name: 'absent', password: 'wrong' } },
  ],
];
for (const [path, there, absent] of logIns) {
  test(`a log-in at ${path} with ${JSON.stringify(there)} fails as one of nobody does`, async () => {
    // Until the name is locked, and then.
    for (let attempt = 0; attempt < 7; attempt++) {
      const ask = (name: string, body: object) =>
        client.call('POST', path.replace('{}', name), body, { token: '' });
      const [one, other] = [await ask('there', there), await ask('absent', absent)];
      assert.ok(one.status === 400 || one.status === 401, one.text);
      assert.equal(one.status, other.status);
      assert.equal(one.text, other.text);
    }
  });
}
