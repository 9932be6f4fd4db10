/** What is kept with certificates, asked of a server. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { makeCsr } from '../support/leaves.ts';
import { type Reply, startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
const must = async (reply: Promise<Reply>): Promise<Reply> => {
  const done = await reply;
  assert.ok(done.status < 300, done.text);
  return done;
};
let issuer_id = '';
before(async () => {
  await must(call('POST', 'sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } }));
  const root = { common_name: 'R', key_type: 'ec' };
  const made = await must(call('POST', 'pki/root/generate/internal', root));
  issuer_id = made.textAt('data.issuer_id');
  const role = { key_type: 'ec', allow_any_name: true, ttl: '1h' };
  await must(call('POST', 'pki/roles/web', role));
  await must(call('POST', 'pki/roles/fleeting', { ...role, no_store: true }));
  await must(call('POST', 'pki/roles/bare', { ...role, no_store_metadata: true }));
});

const data = Buffer.from([0, 255, 10, 13]).toString('base64');
const csr = makeCsr({ subject: { common_name: 'a.test' } });
const ways: [path: string, body: object][] = [
  ['issue/web', { common_name: 'a.test' }],
  ['sign/web', { csr }],
  ['sign-verbatim/web', { csr }],
  ['issuer/default/sign-verbatim/web', { csr }],
];

test('what is sent with a request is kept beside its certificate, byte for byte', async () => {
  assert.equal((await call('LIST', 'pki/cert-metadata')).status, 404);
  const serials: string[] = [];
  for (const [path, body] of ways) {
    const made = await must(call('POST', `pki/${path}`, { ...body, cert_metadata: data }));
    const serial = made.textAt('data.serial_number');
    serials.push(serial);
    const read = await must(
      call('GET', `pki/cert-metadata/${serial.toUpperCase().replaceAll(':', '-')}`),
    );
    const end = new Date(1000 * Number(made.field('data.expiration'))).toISOString();
    assert.deepEqual(read.field('data'), {
      serial_number: serial,
      issuer_id,
      role: 'web',
      expiration: end.replace('.000', ''),
      cert_metadata: data,
    });
  }
  serials.sort();
  const all = await must(call('LIST', 'pki/cert-metadata'));
  assert.deepEqual(all.field('data.keys'), serials);
  const page = await must(call('LIST', `pki/cert-metadata?after=${serials[0]}&limit=2`));
  assert.deepEqual(page.field('data.keys'), serials.slice(1, 3));
});

test('without cert_metadata nothing is kept', async () => {
  for (const cert_metadata of [undefined, '']) {
    const made = await must(
      call('POST', 'pki/issue/web', { common_name: 'a.test', cert_metadata }),
    );
    const serial = made.textAt('data.serial_number');
    assert.equal((await call('GET', `pki/cert-metadata/${serial}`)).status, 404);
  }
});

test('metadata is kept of a certificate that is not', async () => {
  const asked = { common_name: 'a.test', cert_metadata: data };
  const made = await must(call('POST', 'pki/issue/fleeting', asked));
  const serial = made.textAt('data.serial_number');
  assert.equal((await call('GET', `pki/cert/${serial}`)).status, 404);
  const read = await must(call('GET', `pki/cert-metadata/${serial}`));
  assert.equal(read.field('data.cert_metadata'), data);
});

test('metadata is refused where none is kept, of no role, and where it is long or no base64', async () => {
  const most = Buffer.alloc(65_535, 7).toString('base64');
  await must(call('POST', 'pki/issue/web', { common_name: 'a.test', cert_metadata: most }));
  for (const [path, cert_metadata, says] of [
    ['issue/bare', data, /no_store_metadata/],
    ['sign-verbatim/bare', data, /no_store_metadata/],
    ['sign-verbatim', data, /needs a role/],
    ['issue/web', 'AQI', /not base64/],
    ['issue/web', `${most}AAAA`, /too long/],
  ] as const) {
    const refused = await call('POST', `pki/${path}`, { common_name: 'a', csr, cert_metadata });
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.text, says);
  }
});

test('what is kept with certificates is read with permission alone', async () => {
  const made = await must(
    call('POST', 'pki/issue/web', { common_name: 'a.test', cert_metadata: data }),
  );
  const path = `pki/cert-metadata/${made.textAt('data.serial_number')}`;
  for (const token of ['', 'unknown'])
    assert.equal((await call('GET', path, undefined, { token })).status, 403);
  const token = (await must(call('POST', 'auth/token/create', { policies: ['default'] }))).textAt(
    'auth.client_token',
  );
  assert.equal((await call('GET', path, undefined, { token })).status, 403);
  assert.equal((await call('LIST', 'pki/cert-metadata', undefined, { token })).status, 403);
  assert.equal((await call('GET', 'pki/cert-metadata/zz')).status, 404);
});

test('whoever may not list certificates is told of none that something is kept with', async () => {
  await must(call('POST', 'pki/issue/web', { common_name: 'a.test', cert_metadata: data }));
  const policy =
    'path "pki/*" { capabilities = ["list"] } path "pki/certs" { capabilities = ["deny"] }';
  await must(call('POST', 'sys/policies/acl/some', { policy }));
  const made = await must(call('POST', 'auth/token/create', { policies: ['some'] }));
  const token = made.textAt('auth.client_token');
  assert.equal((await call('LIST', 'pki/cert-metadata', undefined, { token })).status, 403);
});
