/** What OpenBao has beyond Vault, by its names, asked of a server. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { type Reply, startTestServer } from '../support/server.ts';

const { call, running } = await startTestServer({ after });
const must = async (reply: Promise<Reply>): Promise<Reply> => {
  const done = await reply;
  assert.ok(done.status < 300, done.text);
  return done;
};
const serials: string[] = [];
before(async () => {
  await must(call('POST', 'sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } }));
  const root = { common_name: 'Root', key_type: 'ec', ttl: '8760h' };
  const made = await must(call('POST', 'pki/root/generate/internal', root));
  serials.push(made.textAt('data.serial_number'));
  const role = { key_type: 'ec', allow_any_name: true, ttl: '1h' };
  await must(call('POST', 'pki/roles/web', role));
  await must(call('POST', 'pki/roles/now', { ...role, not_before_bound: 'forbid' }));
  for (const name of ['a', 'b', 'c']) {
    const asked = { common_name: `${name}.test`, alt_names: `www.${name}.test` };
    const leaf = await must(call('POST', 'pki/issue/web', asked));
    serials.push(leaf.textAt('data.serial_number'));
  }
  serials.sort();
});

test('the answer says when the certificate begins, which a request may name', async () => {
  const asked = { common_name: 'x.test', not_before: '2026-01-02T03:04:05Z' };
  const made = await must(call('POST', 'pki/issue/web', asked));
  assert.equal(made.field('data.not_before'), Date.parse(asked.not_before) / 1000);
  serials.push(made.textAt('data.serial_number'));
  serials.sort();
  const refused = await call('POST', 'pki/issue/now', asked);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /not_before_bound is set to forbid/);
  assert.equal((await call('POST', 'pki/issue/web', { ...asked, not_before: 'x' })).status, 400);
  const wrong = await call('POST', 'pki/roles/x', { not_before_bound: 'ttl-limited' });
  assert.equal(wrong.status, 400);
});

test('certs/detailed tells of each certificate who it is of, by whom and until when', async () => {
  const all = await must(call('LIST', 'pki/certs/detailed'));
  assert.deepEqual(all.field('data.keys'), serials);
  const info = Object.values(all.field('data.key_info') as Record<string, unknown>);
  assert.equal(info.length, serials.length);
  const leaf = info.find((one) => Reflect.get(Object(one), 'common_name') === 'a.test');
  const { not_before, not_after, ...rest } = Object(leaf);
  assert.deepEqual(rest, {
    common_name: 'a.test',
    issuer: 'CN=Root',
    key_type: 'ec',
    key_bits: 256,
    dns_names: ['a.test', 'www.a.test'],
  });
  assert.equal((Date.parse(not_after) - Date.parse(not_before)) / 1000, 3630);
});

test('certs/detailed tells of all others where one of them cannot be read', async () => {
  await must(call('POST', 'sys/mounts/torn', { type: 'pki' }));
  const root = { common_name: 'Torn', key_type: 'ec', ttl: '700h' };
  await must(call('POST', 'torn/root/generate/internal', root));
  await must(call('POST', 'torn/roles/web', { key_type: 'ec', allow_any_name: true, ttl: '1h' }));
  for (const common_name of ['a.test', 'b.test', 'c.test']) {
    await must(call('POST', 'torn/issue/web', { common_name }));
  }
  const keys = (await must(call('LIST', 'torn/certs'))).field('data.keys') as string[];
  const [, torn = '', next = ''] = keys;
  const der = Uint8Array.of(0x30, 3, 2, 1);
  const tear = build.updateTable('pki_certificate').set({ der }).where('serial', '=', torn);
  await running.app.store.commit([write(tear, { rows: 1 })]);
  const told = async (query: string) => {
    const list = await must(call('LIST', `torn/certs/detailed${query}`));
    const info = Object.entries(list.field('data.key_info') as Record<string, { issuer: string }>);
    assert.deepEqual(
      list.field('data.keys'),
      info.map(([serial]) => serial),
    );
    return info.map(([serial, { issuer }]) => [serial, issuer]);
  };
  const issuerOf = (serial: string) => [serial, serial === torn ? '' : 'CN=Torn'];
  assert.deepEqual(await told(''), keys.map(issuerOf));
  assert.deepEqual(await told(`?limit=2&after=${keys[0]}`), [torn, next].map(issuerOf));
});

test('lists are told page by page, by after and limit', async () => {
  for (const list of ['certs', 'certs/detailed']) {
    const page = await must(call('LIST', `pki/${list}?limit=2&after=${serials[0]}`));
    assert.deepEqual(page.field('data.keys'), serials.slice(1, 3), list);
    assert.equal((await call('LIST', `pki/${list}?after=zz`)).status, 404);
  }
  const roles = await must(call('LIST', 'pki/roles?limit=1&after=now'));
  assert.deepEqual(roles.field('data.keys'), ['web']);
});

test('whoever may not list certificates is told of none with details', async () => {
  const policy =
    'path "pki/*" { capabilities = ["list"] } path "pki/certs" { capabilities = ["deny"] }';
  await must(call('POST', 'sys/policies/acl/some', { policy }));
  const made = await must(call('POST', 'auth/token/create', { policies: ['some'] }));
  const token = made.textAt('auth.client_token');
  assert.equal((await call('LIST', 'pki/certs/detailed', undefined, { token })).status, 403);
});

test('what has ended is revoked where config/crl allows it', async () => {
  const asked = { common_name: 'short.test', ttl: '1s' };
  const made = await must(call('POST', 'pki/issue/web', asked));
  const revoke = () =>
    must(call('POST', 'pki/revoke', { serial_number: made.textAt('data.serial_number') }));
  assert.match((await revoke()).text, /already expired; refusing to add to CRL/);
  await must(call('POST', 'pki/config/crl', { allow_expired_cert_revocation: true }));
  assert.equal((await revoke()).field('data.state'), 'revoked');
  const listed = await must(call('LIST', 'pki/certs/revoked'));
  assert.deepEqual(listed.field('data.keys'), [made.textAt('data.serial_number')]);
});
