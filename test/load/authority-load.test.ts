import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, before, test } from 'node:test';
import { encodePem } from '../../src/core/pem.ts';
import { signSync } from '../../src/x509/algorithms.ts';
import { assembleSigned } from '../../src/x509/certificate.ts';
import { encodeCsrInfo } from '../../src/x509/csr.ts';
import { subjectAltName } from '../../src/x509/extensions.ts';
import { publicKeyInfo } from '../../src/x509/keys.ts';
import { encodeSubject } from '../../src/x509/names.ts';
import { type Reply, startTestServer } from '../support/server.ts';
import { holdsNobodyUp } from '../support/turns.ts';

/** Long requests to the CA, and that nobody else waits for them. */

const { call } = await startTestServer({ after });

const many = (count: number, make: (index: number) => string): string[] =>
  Array.from({ length: count }, (_, index) => make(index));

const plain = (index: number): string => `n${index}.d9999.example.com`;
const ROLES: Record<string, object> = {
  any: { allow_any_name: true },
  domains: { allowed_domains: many(10_000, (i) => `d${i}.example.com`), allow_subdomains: true },
  globs: { allowed_domains: many(10_000, (i) => `*.d${i}.example.*`), allow_glob_domains: true },
  // Nothing tells these patterns apart.
  alike: {
    allowed_domains: [
      ...many(
        9999,
        (i) => `*${[...(i + 16_384).toString(2)].map((bit) => 'ab'[Number(bit)]).join('*')}`,
      ),
      '*.ok.test',
    ],
    allow_glob_domains: true,
  },
  scripts: { allowed_domains: many(9000, (i) => `bücher.ü${i}.ö.test`), allow_subdomains: true },
  uris: { allowed_uri_sans: many(10_000, (i) => `spiffe://a.test/${i}/*`) },
  others: { allowed_other_sans: many(10_000, (i) => `1.2.3.${i};UTF8:*a${i}*`) },
  ids: { allowed_user_ids: many(10_000, (i) => `svc-${i}-*`), allow_any_name: true },
};

before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki' });
  await call('POST', 'pki/root/generate/internal', { common_name: 'R', key_type: 'ec' });
  const ranges = { permitted_ip_ranges: PREFIXES, excluded_ip_ranges: PREFIXES.slice(0, -1) };
  const root = { common_name: 'S', key_type: 'ec', issuer_name: 'ranges', ...ranges };
  assert.equal((await call('POST', 'pki/root/generate/internal', root)).status, 200);
  for (const [name, fields] of Object.entries(ROLES)) {
    const role = { key_type: 'ec', ttl: '1h', require_cn: false, ...fields };
    assert.equal((await call('POST', `pki/roles/${name}`, role)).status, 200, name);
  }
  // What is loaded once, and compiled, is not what is measured.
  await call('POST', 'pki/issue/any', { common_name: 'a.test' });
  await call('POST', 'pki/issue/any', { alt_names: many(4900, plain).join() });
});

const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });

function csrOf(dns: string[]): string {
  const info = encodeCsrInfo({
    subject: encodeSubject({}),
    subjectPublicKeyInfo: publicKeyInfo(keys.publicKey),
    extensions: [subjectAltName({ dns, email: [], ip: [], uri: [], other: [] }, true)],
  });
  const signature = signSync(keys.privateKey, 'ECDSAWithSHA256', info);
  return encodePem('CERTIFICATE REQUEST', assembleSigned(info, 'ECDSAWithSHA256', signature));
}

/** Every length that a prefix of an address can have, none of which is what the last one holds. */
const PREFIXES = [...many(128, (i) => `8000::/${i + 1}`), '::/0'];

const INSIDE: [what: string, path: string, body: object][] = [
  ['4,900 names under 10,000 domains', 'issue/domains', { alt_names: many(4900, plain).join() }],
  ['4,900 names under 10,000 patterns', 'issue/globs', { alt_names: many(4900, plain).join() }],
  [
    '100 names under patterns that are alike',
    'issue/alike',
    { alt_names: many(100, (i) => `ab${i}.ok.test`).join() },
  ],
  ['one name under 10,000 domains', 'issue/domains', { common_name: plain(1) }],
  ['one name under 10,000 patterns', 'issue/globs', { common_name: plain(1) }],
  [
    'one name under 9,000 domains of another script',
    'issue/scripts',
    { common_name: 'a.bücher.ü8999.ö.test' },
  ],
  ['a CSR of 4,900 names', 'sign/domains', { csr: csrOf(many(4900, plain)) }],
  [
    '4,900 URIs under 10,000 patterns',
    'issue/uris',
    { uri_sans: many(4900, (i) => `spiffe://a.test/${i}/x`) },
  ],
  [
    '4,900 other names under 10,000',
    'issue/others',
    { other_sans: many(4900, (i) => `1.2.3.${i};UTF8:xa${i}x`) },
  ],
  [
    '250 user ids under 10,000 patterns',
    'issue/ids',
    { common_name: 'a.test', user_ids: many(250, (i) => `svc-${i}-x`) },
  ],
  [
    '1,380 addresses under as many constraints as prefixes have lengths',
    'issuer/ranges/issue/any',
    { ip_sans: many(1380, (i) => `::${i.toString(16)}`), ttl: '1h' },
  ],
  ['4,900 addresses', 'issue/any', { ip_sans: many(4900, (i) => `10.0.${i >> 8}.${i & 255}`) }],
];
for (const [what, path, body] of INSIDE) {
  test(`${what}: certified, and nobody is held up`, async () => {
    let answer: Reply | undefined;
    await holdsNobodyUp(async () => {
      answer = await call('POST', `pki/${path}`, body);
    });
    assert.equal(answer?.status, 200, String(answer?.text.slice(0, 300)));
  });
}

const encoded = (index: number): string => `${'xn--bcher-kva.'.repeat(12)}n${index}.test`;
const written = (index: number): string => `${'é.'.repeat(20)}n${index}.test`;
const OUTSIDE: [what: string, path: string, body: object, why: RegExp][] = [
  [
    '4,900 names under patterns that are alike',
    'issue/alike',
    { alt_names: many(4900, (i) => `ab${i}.ok.test`).join() },
    /too many names at once for the patterns of this role/,
  ],
  [
    'the last of 4,900 names outside',
    'issue/domains',
    { alt_names: [...many(4899, plain), 'a.evil.test'].join() },
    /a\.evil\.test not allowed by this role/,
  ],
  [
    'names that must be decoded',
    'issue/any',
    { alt_names: many(4900, encoded).join() },
    /bytes, at most/,
  ],
  [
    'names that must be encoded',
    'issue/any',
    { alt_names: many(4900, written).join() },
    /bytes, at most/,
  ],
  [
    'addresses that must be decoded',
    'issue/any',
    { alt_names: many(4900, (i) => `a@${encoded(i)}`).join() },
    /bytes, at most/,
  ],
  [
    'a root of names that must be decoded',
    'root/generate/internal',
    { common_name: 'R', key_type: 'ec', alt_names: many(4900, encoded).join() },
    /4900 names of a root, at most 100/,
  ],
  [
    'a subject of 10,000 values',
    'root/generate/internal',
    { common_name: 'R', key_type: 'ec', ou: many(10_000, (i) => `ou ${i}`) },
    /more than 256 attributes/,
  ],
  [
    'names none of which can be written',
    'issue/any',
    { alt_names: many(4900, (i) => `${i}.${'a'.repeat(60)}.x`).join(), other_sans: ['1.2;UTF8:x'] },
    /other SAN OID|bytes, at most/,
  ],
  [
    'a CSR that is no PEM',
    'sign/any',
    { csr: '-----BEGIN '.repeat(23_000) },
    /csr contains no data/,
  ],
  [
    'a CSR that is long',
    'sign/any',
    { csr: '-----BEGIN '.repeat(80_000) },
    /csr of 880000 characters, at most 262144 are accepted/,
  ],
];
for (const [what, path, body, why] of OUTSIDE) {
  test(`${what}: refused, and nobody is held up`, async () => {
    let answer: Reply | undefined;
    await holdsNobodyUp(async () => {
      answer = await call('POST', `pki/${path}`, body);
    });
    assert.equal(answer?.status, 400, String(answer?.text.slice(0, 300)));
    assert.match(answer?.text ?? '', why);
  });
}

test('what is decided on another thread is what is decided on this one', async () => {
  const names = many(300, (i) => `n${i}.d${i}.example.com`);
  // Beyond some thousand characters a request is long; the last item is passed over.
  for (const alt_names of [names.join(), [...names, `-${'x'.repeat(900)}-`].join()]) {
    const answer = await call('POST', 'pki/issue/domains', { alt_names, ttl: '30m' });
    assert.equal(answer.status, 200);
    const found = await call('GET', 'pki/certs/search?name=n299.d299.example.com');
    assert.ok(found.text.includes(answer.textAt('data.serial_number')));
  }
  const refused = await call('POST', 'pki/issue/domains', {
    alt_names: names.join(),
    ip_sans: ['x'],
  });
  assert.deepEqual(refused.field('errors'), ['the value "x" is not a valid IP address']);
});

test('certificates of thousands of names are found by each of them, a page at a time', async () => {
  const alt_names = many(4900, (i) => `s${i}.d7777.example.com`).join();
  const issued = await call('POST', 'pki/issue/domains', { alt_names });
  for (const name of ['s4899.d7777.example.com', '*.d7777.example.com']) {
    let found: Reply | undefined;
    await holdsNobodyUp(async () => {
      found = await call('GET', `pki/certs/search?name=${name}&limit=1000`);
    });
    assert.deepEqual(found?.field('data.keys'), [issued.textAt('data.serial_number')]);
  }
});
