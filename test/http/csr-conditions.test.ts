import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { withOpenssl } from '../support/openssl.ts';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
await call('POST', 'demo/root/generate/internal', { common_name: 'Root', key_type: 'ec' });
const role = { allow_any_name: true, allowed_uri_sans: '*', key_type: 'ec', ttl: '1h' };
await call('POST', 'demo/roles/csr', role);
const own = { ...role, use_csr_common_name: false, use_csr_sans: false };
await call('POST', 'demo/roles/own', own);

const csrs = new Map<string, string>();
function csrOf(common_name: string, names: string): string {
  const key = `${common_name} ${names}`;
  const known = csrs.get(key);
  if (known) return known;
  let csr = '';
  withOpenssl(({ must, read }) => {
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    const added = names === '' ? [] : ['-addext', `subjectAltName=${names}`];
    must(
      'req',
      '-new',
      ...kind,
      '-subj',
      `/CN=${common_name}`,
      ...added,
      '-keyout',
      'k',
      '-out',
      'c',
    );
    csr = Buffer.from(read('c')).toString('utf8');
  });
  csrs.set(key, csr);
  return csr;
}

let made = 0;
async function sign(asked: {
  conditions: string;
  role?: string;
  common_name: string;
  names?: string;
  body?: object;
}): Promise<number> {
  const policy = `csr-${made++}`;
  const { role: name = 'csr', conditions, common_name, names = '', body } = asked;
  const text = `path "demo/sign/${name}" { capabilities = ["update"]\n${conditions} }`;
  await call('POST', `sys/policies/acl/${policy}`, { policy: text });
  const token = (await call('POST', 'auth/token/create', { policies: [policy] })).textAt(
    'auth.client_token',
  );
  const sent = { csr: csrOf(common_name, names), ...body };
  return (await call('POST', `demo/sign/${name}`, sent, { token })).status;
}

const denied = (field: string, ...values: string[]): string =>
  `denied_parameters = { "${field}" = ${JSON.stringify(values)} }`;
const allowed = (field: string, ...values: string[]): string =>
  `allowed_parameters = { "csr" = [], "${field}" = ${JSON.stringify(values)} }`;

const cases: [conditions: string, common_name: string, names: string, status: number][] = [
  ['', 'admin.test', 'DNS:admin.test', 200],
  [denied('common_name', 'admin.test'), 'web.test', '', 200],
  [denied('common_name', 'admin.test'), 'admin.test', '', 403],
  [denied('common_name', 'admin.test'), 'ADMIN.test', '', 403],
  [denied('common_name'), 'web.test', '', 403],
  [denied('alt_names', 'admin.test'), 'web.test', 'DNS:other.test', 200],
  [denied('alt_names', 'admin.test'), 'web.test', 'DNS:other.test,DNS:admin.test', 403],
  [denied('alt_names', 'me@admin.test'), 'web.test', 'email:me@admin.test', 403],
  [denied('ip_sans', '10.0.0.1'), 'web.test', 'IP:10.0.0.2', 200],
  [denied('ip_sans', '10.0.0.1'), 'web.test', 'IP:10.0.0.1', 403],
  [denied('uri_sans', 'https://admin.test/'), 'web.test', 'URI:https://admin.test/', 403],
  [allowed('common_name', 'web.test'), 'web.test', '', 200],
  [allowed('common_name', 'web.test'), 'admin.test', '', 403],
  [allowed('alt_names', 'a.test'), 'web.test', 'DNS:a.test', 200],
  [allowed('alt_names', 'a.test'), 'web.test', 'DNS:b.test', 403],
  [allowed('format', 'pem'), 'admin.test', 'DNS:admin.test', 200],
];
for (const [conditions, common_name, names, status] of cases) {
  test(`a CSR of ${common_name} ${names} under "${conditions}": ${status}`, async () => {
    assert.equal(await sign({ conditions, common_name, names }), status);
  });
}

test('what a role does not take from the CSR is judged as it is sent', async () => {
  const conditions = denied('common_name', 'admin.test');
  const asked = { conditions, role: 'own', common_name: 'admin.test' };
  assert.equal(await sign({ ...asked, body: { common_name: 'web.test' } }), 200);
  assert.equal(await sign({ ...asked, body: { common_name: 'admin.test' } }), 403);
});
