/** Every method and path of the engine: that it is there, who is heard without a token, and that issuers are named alike in all. */

import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, before, test } from 'node:test';
import { makeCsr } from '../support/leaves.ts';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });

/** References of the second issuer, which is not the default one, and one of the default issuer. */
const named = { id: '', name: 'second' };
let serial = '';
before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } });
  const root = { common_name: 'First', key_type: 'ec', key_name: 'key' };
  await call('POST', 'pki/root/generate/internal', root);
  const second = { common_name: 'Second', key_type: 'ec', issuer_name: named.name };
  named.id = (await call('POST', 'pki/root/generate/internal', second)).textAt('data.issuer_id');
  await call('POST', 'pki/roles/web', { key_type: 'ec', allow_any_name: true, ttl: '1h' });
  const leaf = { common_name: 'a.test', cert_metadata: 'YQ==' };
  serial = (await call('POST', 'pki/issue/web', leaf)).textAt('data.serial_number');
  await call('POST', 'pki/revoke', { serial_number: serial });
  await call('POST', 'pki/config/crl', { auto_rebuild: true, unified_crl: true });
});

const CRL_FORMS = ['crl', 'crl/delta', 'unified-crl', 'unified-crl/delta'];
/** Served without a token, each 200. */
const OPEN: readonly string[] = [
  ...['cert/ca', 'cert/ca/raw', 'cert/ca/raw/pem', 'ca', 'ca/pem', 'ca_chain', 'cert/ca_chain'],
  ...['cert/ca_chain/raw', 'cert/ca_chain/raw/pem', 'cert/crl', 'cert/crl/raw', 'cert/crl/raw/pem'],
  ...['cert/delta-crl', 'cert/unified-crl', 'cert/unified-delta-crl'],
  ...['cert/SERIAL', 'cert/SERIAL/raw', 'cert/SERIAL/raw/pem'],
  ...['issuer/second/json', 'issuer/second/der', 'issuer/second/pem'],
  ...CRL_FORMS.flatMap((crl) => [crl, `${crl}/pem`]),
  ...CRL_FORMS.flatMap((crl) => ['', '/der', '/pem'].map((form) => `issuer/second/${crl}${form}`)),
];

const EXTERNAL = ['issue', 'sign', 'sign-intermediate'].flatMap((what) =>
  ['', '/policy'].flatMap((policy) =>
    ['', 'issuer/second/'].map((issuer) => `${issuer}external-policy/${what}${policy}`),
  ),
);
const KINDS = ['exported', 'internal', 'existing', 'kms'];

/** Not heard without a token. What removes or ends something comes last. */
const CLOSED: readonly [method: 'GET' | 'LIST' | 'POST' | 'PATCH' | 'DELETE', paths: string[]][] = [
  ['LIST', ['roles', 'certs', 'certs/revoked', 'certs/unified-revoked', 'cert-metadata', 'keys']],
  ['LIST', ['certs/revocation-queue']],
  ['GET', ['roles/web', 'cert-metadata/SERIAL', 'key/key', 'issuer/second']],
  [
    'GET',
    ['urls', 'issuers', 'keys', 'cluster', 'crl', 'external-policy'].map((of) => `config/${of}`),
  ],
  ['POST', ['issue/web', 'issuer/second/issue/web', 'sign/web', 'issuer/second/sign/web']],
  ['POST', EXTERNAL],
  ['POST', ['root/sign-intermediate', 'issuer/second/sign-intermediate']],
  ['POST', ['root/sign-self-issued', 'issuer/second/sign-self-issued']],
  ['POST', ['sign-verbatim', 'sign-verbatim/web']],
  ['POST', ['issuer/second/sign-verbatim', 'issuer/second/sign-verbatim/web']],
  ['POST', ['revoke', 'revoke-with-key']],
  ['POST', ['exported', 'internal', 'kms'].map((kind) => `keys/generate/${kind}`)],
  ['POST', KINDS.map((kind) => `root/generate/${kind}`)],
  ['POST', KINDS.map((kind) => `issuers/generate/root/${kind}`)],
  ['POST', KINDS.map((kind) => `root/rotate/${kind}`)],
  ['POST', KINDS.map((kind) => `intermediate/generate/${kind}`)],
  ['POST', KINDS.map((kind) => `issuers/generate/intermediate/${kind}`)],
  ['POST', ['intermediate/cross-sign', 'intermediate/set-signed', 'config/ca', 'keys/import']],
  ['POST', ['issuers/import/bundle', 'issuers/import/cert', 'root/replace', 'key/key']],
  [
    'POST',
    ['urls', 'issuers', 'keys', 'cluster', 'crl', 'external-policy'].map((of) => `config/${of}`),
  ],
  ['PATCH', ['roles/web', 'issuer/second']],
  ['POST', ['roles/web', 'issuer/second', 'issuer/second/revoke']],
  ['DELETE', ['roles/web', 'issuer/second', 'key/key', 'root']],
];

test('what is public is read by everybody, at every address', async () => {
  for (const token of ['', 'root']) {
    for (const path of OPEN.map((one) => one.replace('SERIAL', serial))) {
      const answer = await call('GET', `pki/${path}`, undefined, { token });
      assert.equal(answer.status, 200, `${path}: ${answer.text}`);
      assert.notEqual(answer.bytes.length, 0, path);
    }
    assert.equal((await call('LIST', 'pki/issuers', undefined, { token })).status, 200);
    for (const path of ['ocsp', 'unified-ocsp']) {
      for (const asked of [
        await call('POST', `pki/${path}`, new Uint8Array(3), { token }),
        await call('GET', `pki/${path}/AAAA`, undefined, { token }),
      ]) {
        assert.equal(asked.status, 400, 'heard, and found malformed');
        assert.equal(asked.headers.get('content-type'), 'application/ocsp-response');
      }
    }
  }
});

test('the chain of the default issuer has raw forms as other certificates have', async () => {
  const chain = (await call('GET', 'pki/ca_chain')).text;
  const pem = await call('GET', 'pki/cert/ca_chain/raw/pem');
  assert.equal(pem.text, chain);
  assert.equal(pem.headers.get('content-type'), 'application/pem-certificate-chain');
  const raw = await call('GET', 'pki/cert/ca_chain/raw');
  assert.equal(raw.headers.get('content-type'), 'application/pkix-cert');
  assert.deepEqual(Buffer.from(raw.bytes), new X509Certificate(chain).raw);
  await call('POST', 'sys/mounts/bare', { type: 'pki' });
  for (const form of ['raw', 'raw/pem']) {
    assert.equal((await call('GET', `bare/cert/ca_chain/${form}`)).status, 204);
  }
  const root = await call('POST', 'bare/root/generate/internal', {
    common_name: 'R',
    key_type: 'ec',
  });
  const made = await call('POST', 'bare/intermediate/generate/internal', { common_name: 'I' });
  const asked = { common_name: 'I', csr: made.textAt('data.csr') };
  const signed = await call('POST', 'bare/root/sign-intermediate', asked);
  const certificate = signed.textAt('data.certificate');
  const imported = await call('POST', 'bare/intermediate/set-signed', { certificate });
  const [id] = imported.field('data.imported_issuers') as string[];
  await call('POST', 'bare/config/issuers', { default: id });
  const both = [certificate, root.textAt('data.certificate')].map(
    (one) => new X509Certificate(one),
  );
  assert.deepEqual(
    Buffer.from((await call('GET', 'bare/cert/ca_chain/raw')).bytes),
    Buffer.concat(both.map(({ raw: der }) => der)),
  );
});

test('an issuer is named by its id and by its name alike wherever it stands in a path, and default is the default one', async () => {
  const csr = makeCsr({ subject: { common_name: 'a.test' } });
  const issuerOf = (pem: string) => new X509Certificate(pem).issuer;
  const signing: readonly [path: string, fields: object][] = [
    ['issue/web', { common_name: 'a.test' }],
    ['sign/web', { csr }],
    ['sign-verbatim', { csr }],
    ['sign-verbatim/web', { csr }],
    ['sign-intermediate', { csr, common_name: 'Sub' }],
  ];
  for (const [path, fields] of signing) {
    for (const [ref, issuer] of [
      [named.id, 'CN=Second'],
      [named.name, 'CN=Second'],
      ['default', 'CN=First'],
    ] as const) {
      const answer = await call('POST', `pki/issuer/${ref}/${path}`, fields);
      assert.equal(answer.status, 200, `${path} by ${ref}: ${answer.text}`);
      assert.equal(issuerOf(answer.textAt('data.certificate')), issuer, `${path} by ${ref}`);
    }
    const of = path === 'sign-intermediate' ? `root/${path}` : path;
    const without = await call('POST', `pki/${of}`, fields);
    assert.equal(issuerOf(without.textAt('data.certificate')), 'CN=First', of);
    assert.equal((await call('POST', `pki/issuer/third/${path}`, fields)).status, 500);
  }
  for (const form of ['', '/json', '/der', '/pem', ...CRL_FORMS.map((crl) => `/${crl}`)]) {
    const read = (ref: string) => call('GET', `pki/issuer/${ref}${form}`);
    const dataOf = (reply: Awaited<ReturnType<typeof read>>) => reply.field('data') ?? reply.bytes;
    assert.deepEqual(dataOf(await read(named.name)), dataOf(await read(named.id)), form);
    assert.notDeepEqual(dataOf(await read('default')), dataOf(await read(named.id)), form);
    assert.equal((await read('third')).status, 500, form);
  }
});

test('all else is there, by its method, and is heard from nobody without a token', async () => {
  const all = CLOSED.flatMap(([method, paths]) =>
    paths.map((path) => [method, `pki/${path.replace('SERIAL', serial)}`] as const),
  );
  const ask = (method: string, path: string, token: string) =>
    call(method, path, method === 'POST' || method === 'PATCH' ? {} : undefined, { token });
  for (const [method, path] of all) {
    const answer = await ask(method, path, '');
    assert.equal(answer.status, 403, `${method} ${path}: ${answer.text}`);
  }
  for (const [method, path] of all) {
    for (const sent of method === 'POST' ? ['POST', 'PUT'] : [method]) {
      const answer = await ask(sent, path, 'root');
      assert.doesNotMatch(answer.text, /unsupported|permission denied/, `${sent} ${path}`);
      // An empty list is not found, and says nothing.
      const isEmpty = sent === 'LIST' && answer.text.trim() === '{"errors":[]}';
      assert.ok(
        isEmpty || ![403, 404, 405].includes(answer.status),
        `${sent} ${path}: ${answer.text}`,
      );
    }
  }
});
