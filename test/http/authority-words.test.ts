/** What the authority refuses or warns of, in the words that clients look for. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { encodePem, parsePem } from '../../src/core/pem.ts';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });

type Fields = Record<string, unknown>;

/** Of a certificate that was issued, with another signature. */
let changed = '';
let serial_number = '';
/** The key of another certificate. */
let private_key = '';

const ED448_CSR = `-----BEGIN CERTIFICATE REQUEST-----
MIHiMGQCAQAwGDEWMBQGA1UEAwwNYS5leGFtcGxlLmNvbTBDMAUGAytlcQM6AApX
ZStF8a26PiLSP9Ak9zXx6XeY2XvK02qe1Z1cLldcFPcLAXsJXmuh8uXr749ncKRZ
oqazBJYkAKAAMAUGAytlcQNzAC1pRm96fYbnpGnFhcGxj1Fn8Suvl9gNM/Wy8hTL
yC2RTIUJDWoPh8MGIzieXEeVLhrITu/+bVunABUyh3/hdIvz7A2Q2yKL2oSa+N+J
e3E+tgTvTu4RD1OuBZh6JmTriR40epz50CLUdZRSSQnpU8clAA==
-----END CERTIFICATE REQUEST-----`;

before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } });
  const root = { common_name: 'R', key_type: 'ec', issuer_name: 'one', key_name: 'one' };
  await call('POST', 'pki/root/generate/internal', { ...root, ttl: '8760h' });
  const other = { common_name: 'O', key_type: 'ec', issuer_name: 'two', key_name: 'two' };
  await call('POST', 'pki/root/generate/internal', other);
  await call('POST', 'pki/roles/any', { allow_any_name: true, key_type: 'any' });
  const asked = { common_name: 'a.test', key_type: 'ec' };
  const issued = await call('POST', 'pki/issue/any', asked);
  serial_number = issued.textAt('data.serial_number');
  const der = Buffer.from(parsePem(issued.textAt('data.certificate'))[0]?.der ?? []);
  der.writeUInt8(der.readUInt8(der.length - 1) ^ 1, der.length - 1);
  changed = encodePem('CERTIFICATE', der);
  private_key = (await call('POST', 'pki/issue/any', asked)).textAt('data.private_key');
});

/** A body that needs what is made first is a function. */
type Refusal = [what: string, path: string, body: Fields | (() => Fields), says: string];

const refusals: Refusal[] = [
  ['the name of another key', 'key/one', { key_name: 'two' }, 'key name already in use'],
  [
    'a reserved key name',
    'key/one',
    { key_name: 'Default' },
    "reserved keyword 'default' can not be used as key name",
  ],
  ['no key name', 'key/one', { key_name: 'a b' }, 'key name contained invalid characters'],
  [
    'the name of another issuer',
    'issuer/one',
    { issuer_name: 'two' },
    'issuer name already in use',
  ],
  [
    'a reserved issuer name',
    'issuer/one',
    { issuer_name: 'DEFAULT' },
    "reserved keyword 'default' can not be used as issuer name",
  ],
  [
    'no issuer name',
    'issuer/one',
    { issuer_name: '-a' },
    'issuer name contained invalid characters',
  ],
  [
    'a signature that the key cannot make',
    'issuer/one',
    { revocation_signature_algorithm: 'SHA256WithRSA' },
    "SHA256WithRSA does not go with the issuer's ec key",
  ],
  [
    'alternative names as an array',
    'issue/any',
    { common_name: 'a.test', key_type: 'ec', alt_names: ['b.test'] },
    'error converting input for field "alt_names"',
  ],
  [
    'weeks',
    'issue/any',
    { common_name: 'a.test', key_type: 'ec', ttl: '1w' },
    'error converting input for field "ttl"',
  ],
  [
    'a negative TTL',
    'issue/any',
    { common_name: 'a.test', key_type: 'ec', ttl: '-1h' },
    'cannot provide negative value',
  ],
  [
    'a key of a kind that is not certified',
    'sign/any',
    { csr: ED448_CSR },
    'Refusing to sign CSR with empty PublicKey',
  ],
  [
    'such a key as it is',
    'sign-verbatim',
    { csr: ED448_CSR },
    'Refusing to sign CSR with empty PublicKey',
  ],
  [
    'another certificate under a number that is stored',
    'revoke',
    () => ({ certificate: changed }),
    'same serial but unequal value',
  ],
  ['a path to revoke', 'revoke', { certificate: './a.pem' }, 'perhaps a path was passed'],
  ['no PEM', 'revoke', { certificate: 'x'.repeat(100) }, 'certificate contains no PEM data'],
  [
    'what is no certificate',
    'revoke',
    { certificate: encodePem('CERTIFICATE', new Uint8Array(90)) },
    'certificate could not be parsed',
  ],
  [
    'the key of another certificate',
    'revoke-with-key',
    () => ({ serial_number, private_key }),
    "provided private key does not match certificate's public key",
  ],
];
test('what cannot be is refused in the words that clients look for, and changes nothing', async () => {
  const stateOf = async (): Promise<unknown[]> => {
    const paths = ['issuer/one', 'issuer/two', 'key/one', 'key/two', `cert/${serial_number}`];
    const reads = await Promise.all(paths.map((path) => call('GET', `pki/${path}`)));
    const lists = await Promise.all(['certs', 'keys'].map((path) => call('LIST', `pki/${path}`)));
    return [...reads, ...lists].map((answer) => answer.field('data'));
  };
  const before = await stateOf();
  for (const [what, path, body, says] of refusals) {
    const fields = typeof body === 'function' ? body() : body;
    for (const method of path.startsWith('issuer/') ? ['POST', 'PATCH'] : ['POST']) {
      const answer = await call(method, `pki/${path}`, fields);
      assert.equal(answer.status, 400, `${what}: ${answer.text}`);
      assert.ok(answer.textAt('errors.0').includes(says), `${what}: ${answer.text}`);
    }
  }
  assert.deepEqual(await stateOf(), before);
});

const OWN_NAMES: [path: string, body: Fields][] = [
  ['key/one', { key_name: 'one' }],
  ['issuer/one', { issuer_name: 'one' }],
  ['issuer/one', { issuer_name: 'one', revocation_signature_algorithm: 'ECDSAWithSHA256' }],
];
test('a key or an issuer may be given the name that it has', async () => {
  for (const [path, body] of OWN_NAMES) {
    const answer = await call('POST', `pki/${path}`, body);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.field('warnings'), null, path);
  }
});

test('PATCH is for roles and issuers alone', async () => {
  for (const path of [
    'key/one',
    'config/urls',
    'config/crl',
    'config/issuers',
    'config/keys',
    'config/cluster',
    'config/auto-tidy',
    'config/external-policy',
    'revoke',
  ]) {
    const answer = await call('PATCH', `pki/${path}`, {});
    assert.equal(answer.status, 405, path);
    assert.match(answer.text, /unsupported operation/);
  }
  for (const path of ['roles/any', 'issuer/two']) {
    assert.equal((await call('PATCH', `pki/${path}`, {})).status, 200, path);
  }
});

test('a role is warned of that names a default issuer where there is none', async () => {
  await call('POST', 'sys/mounts/bare', { type: 'pki' });
  const answer = await call('POST', 'bare/roles/any', {});
  assert.equal(answer.status, 200);
  assert.match(
    answer.textAt('warnings'),
    /Issuing Certificate was set to default, but no default issuing certificate/,
  );
  assert.equal((await call('POST', 'pki/roles/other', {})).field('warnings'), null);
});

test('templates of a mount are warned of while its cluster has no address, also where none is needed', async () => {
  await call('POST', 'sys/mounts/addressless', { type: 'pki' });
  const urls = { enable_templating: true, issuing_certificates: 'http://a.test/{{issuer_id}}' };
  const answer = await call('POST', 'addressless/config/urls', urls);
  assert.match(answer.textAt('warnings'), /config\/cluster lacks "path": issuance may fail/);
  const root = { common_name: 'R', key_type: 'ec' };
  const made = await call('POST', 'addressless/root/generate/internal', root);
  await call('POST', 'addressless/roles/any', { allow_any_name: true, key_type: 'ec' });
  const issued = await call('POST', 'addressless/issue/any', {
    common_name: 'a.test',
    format: 'der',
    ttl: '1h',
  });
  const der = Buffer.from(issued.textAt('data.certificate'), 'base64');
  assert.ok(der.includes(`http://a.test/${made.textAt('data.issuer_id')}`), issued.text);
});

test('an issuer with templates is warned of where its cluster has no address', async () => {
  const templates = {
    enable_aia_url_templating: true,
    crl_distribution_points: '{{cluster_path}}/crl/pem',
  };
  const answer = await call('PATCH', 'pki/issuer/two', templates);
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.textAt('warnings'), /issuance may fail/);
  const asked = { common_name: 'a.test', key_type: 'ec', ttl: '1h' };
  const refused = await call('POST', 'pki/issuer/two/issue/any', asked);
  assert.equal(refused.status, 500);
  assert.match(refused.text, /unable to template AIA URLs/);
  await call('POST', 'pki/config/cluster', { path: 'https://a.test/v1/pki' });
  const again = await call('PATCH', 'pki/issuer/two', templates);
  assert.doesNotMatch(again.textAt('warnings'), /issuance may fail/);
  const issued = await call('POST', 'pki/issuer/two/issue/any', asked);
  assert.equal(issued.status, 200, issued.text);
  const elsewhere = { ...templates, ocsp_servers: '{{cluster_aia_path}}/ocsp' };
  const missed = await call('PATCH', 'pki/issuer/two', elsewhere);
  assert.match(missed.textAt('warnings'), /lacks "aia_path": issuance may fail/);
});
