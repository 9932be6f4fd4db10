/** What a request for an authority may say, field by field, in a root, a request for an intermediate and an
 *  intermediate, with OpenSSL as the judge of what has become of it; and the settings of an issuer, one by one. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { makeCsr } from '../support/leaves.ts';
import { withOpenssl } from '../support/openssl.ts';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
type Fields = Record<string, unknown>;

const RSA_ISSUER = 'pki/issuer/rsa';
let csr = '';
before(async () => {
  csr = makeCsr({ subject: { common_name: 'from-the-csr' } });
  await call('POST', 'sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '876000h' } });
  const root = { common_name: 'R', ttl: '876000h' };
  await call('POST', 'pki/root/generate/internal', { ...root, key_type: 'ec' });
  const rsa = await call('POST', 'pki/root/generate/internal', { ...root, issuer_name: 'rsa' });
  assert.equal(rsa.status, 200, rsa.text);
});

/** What OpenSSL says of a certificate or a request. */
function describe(pem: string, kind: 'x509' | 'req'): string {
  let text = '';
  withOpenssl(({ write, must }) => {
    write('it.pem', pem);
    text = must(kind, '-in', 'it.pem', '-noout', '-text', '-nameopt', 'RFC2253');
  });
  return text;
}

const WAYS = {
  root: ['pki/root/generate/internal', 'certificate', 'x509'],
  csr: ['pki/intermediate/generate/internal', 'csr', 'req'],
  intermediate: ['pki/root/sign-intermediate', 'certificate', 'x509'],
  'intermediate of an issuer': [`${RSA_ISSUER}/sign-intermediate`, 'certificate', 'x509'],
} as const;
type Way = keyof typeof WAYS;

/** What each has when nothing is asked for. */
const plain = new Map<Way, string>();
async function askNothing(way: Way): Promise<string> {
  const text = plain.get(way) ?? (await ask(way, {})).text;
  plain.set(way, text);
  return text;
}

async function ask(way: Way, fields: Fields): Promise<{ status: number; text: string }> {
  const [path, field, kind] = WAYS[way];
  const own = way === 'root' || way === 'csr' ? { key_type: 'ec' } : { csr };
  const reply = await call('POST', path, { common_name: 'sub.test', ...own, ...fields });
  if (reply.status !== 200) return { status: reply.status, text: reply.text };
  return { status: 200, text: describe(reply.textAt(`data.${field}`), kind) };
}

const EVERY: readonly Way[] = ['root', 'csr', 'intermediate'];
const SIGNED: readonly Way[] = ['root', 'intermediate'];
const BELOW: readonly Way[] = ['intermediate', 'intermediate of an issuer'];

/** Two values of a part of the subject, in all forms that they are sent in. */
const part = (sent: string, rdn: string): [ways: readonly Way[], forms: Fields[], says: RegExp] => [
  EVERY,
  [{ [sent]: 'Aa,Bb' }, { [sent]: ['Aa', 'Bb'] }],
  new RegExp(`Subject: .*${rdn}=(Aa\\+${rdn}=Bb|Bb\\+${rdn}=Aa)`, 'i'),
];

const SHOWN: Readonly<Record<string, [ways: readonly Way[], forms: Fields[], says: RegExp]>> = {
  common_name: [EVERY, [{ common_name: 'Any words' }], /Subject: .*CN=Any words/],
  alt_names: [EVERY, [{ alt_names: 'b.test,m@b.test' }], /DNS:b\.test.*email:m@b\.test/],
  ip_sans: [
    EVERY,
    [{ ip_sans: '192.0.2.1,2001:db8::1' }, { ip_sans: ['192.0.2.1', '2001:db8::1'] }],
    /IP Address:192\.0\.2\.1, IP Address:2001:DB8:0:0:0:0:0:1/,
  ],
  uri_sans: [
    EVERY,
    [{ uri_sans: 'urn:a,urn:b' }, { uri_sans: ['urn:a', 'urn:b'] }],
    /URI:urn:a, URI:urn:b/,
  ],
  other_sans: [
    EVERY,
    [{ other_sans: '1.2.3;UTF8:some' }, { other_sans: ['1.2.3;utf-8:some'] }],
    /othername: 1\.2\.3::some/,
  ],
  ou: part('ou', 'OU'),
  organization: part('organization', 'O'),
  country: part('country', 'C'),
  locality: part('locality', 'L'),
  province: part('province', 'ST'),
  street_address: part('street_address', 'street'),
  postal_code: part('postal_code', 'postalCode'),
  serial_number: [EVERY, [{ serial_number: 'a-7' }], /Subject: .*serialNumber=a-7/],
  key_usage: [
    SIGNED,
    [
      { key_usage: 'digitalsignature' },
      { key_usage: ['DigitalSignature'] },
      { key_usage: ['CertSign', 'DigitalSignature'] },
    ],
    /Key Usage: critical\s+Digital Signature, Certificate Sign, CRL Sign/,
  ],
  'key_usage of a request': [
    ['csr'],
    [{ key_usage: 'CertSign,CRLSign' }, { key_usage: ['certsign', 'crlsign'] }],
    /Key Usage:.*\s+Certificate Sign, CRL Sign/,
  ],
  add_basic_constraints: [
    ['csr'],
    [{ add_basic_constraints: true }],
    /Constraints: critical\s+CA:TRUE/,
  ],
  max_path_length: [
    SIGNED,
    [{ max_path_length: 2 }, { max_path_length: '2' }],
    /CA:TRUE, pathlen:2/,
  ],
  'max_path_length of zero': [SIGNED, [{ max_path_length: 0 }], /CA:TRUE, pathlen:0/],
  permitted_dns_domains: [
    SIGNED,
    [
      { permitted_dns_domains: 'sub.test,.b.test' },
      { permitted_dns_domains: ['sub.test', '.b.test'] },
    ],
    /Name Constraints: critical\s+Permitted:\s+DNS:sub\.test\s+DNS:\.b\.test/,
  ],
  not_after: [
    SIGNED,
    [{ not_after: '2031-02-03T04:05:06Z' }],
    /Not After : Feb {2}3 04:05:06 2031 GMT/,
  ],
  skid: [BELOW, [{ skid: '01020A' }, { skid: '01:02:0a' }], /Subject Key Identifier:\s+01:02:0A/],
  signature_bits: [
    ['intermediate of an issuer'],
    [{ signature_bits: 512 }],
    /Signature Algorithm: sha512WithRSA/,
  ],
  'signature_bits of an EC key': [
    ['root', 'intermediate'],
    [{ signature_bits: 512 }],
    /Signature Algorithm: ecdsa-with-SHA256/,
  ],
  use_pss: [['intermediate of an issuer'], [{ use_pss: true }], /Signature Algorithm: rsassaPss/],
};

for (const [field, [ways, forms, says]] of Object.entries(SHOWN)) {
  test(`${field} is what ${ways.join(', ')} then has, and without it not`, async () => {
    for (const way of ways) {
      for (const sent of forms) {
        const { text } = await ask(way, sent);
        assert.match(text, says, `${way} of ${JSON.stringify(sent)}`);
      }
      if (!field.includes(' of ')) assert.doesNotMatch(await askNothing(way), says, way);
    }
  });
}

test('what an authority has when nothing is asked for: its name as a DNS name, both usages, and no path length', async () => {
  for (const way of EVERY) {
    const text = await askNothing(way);
    assert.match(text, /Subject: CN=sub\.test\n/, way);
    assert.match(text, /DNS:sub\.test/, way);
    const { text: excluded } = await ask(way, { exclude_cn_from_sans: true });
    assert.match(excluded, /CN=sub\.test/, way);
    assert.doesNotMatch(excluded, /Alternative Name/, way);
    const usual =
      /Key Usage: critical\s+Certificate Sign, CRL Sign\s+X509v3 Basic Constraints: critical\s+CA:TRUE\n/;
    if (way === 'csr') assert.doesNotMatch(text, /Key Usage|Basic Constraints/);
    else assert.match(text, usual, way);
  }
});

test('an authority begins not_before_duration ago, 30 seconds unless told, and its ttl counts from now', async () => {
  for (const [sent, seconds] of [
    [{}, 36_030],
    [{ not_before_duration: '1h' }, 39_600],
    [{ not_before_duration: 600 }, 36_600],
  ] as const) {
    for (const way of SIGNED) {
      const { text } = await ask(way, { ttl: '10h', ...sent });
      const [begin, end] = [/Not Before: (.*)/, /Not After : (.*)/].map((date) =>
        Date.parse(date.exec(text)?.[1] ?? ''),
      );
      assert.equal(
        Number(end) - Number(begin),
        seconds * 1000,
        `${way} of ${JSON.stringify(sent)}`,
      );
    }
  }
});

const REFUSED: readonly [ways: readonly Way[], fields: Fields][] = [
  [EVERY, { common_name: '' }],
  [EVERY, { ip_sans: '192.0.2.256' }],
  [EVERY, { uri_sans: 'no uri' }],
  [EVERY, { uri_sans: ['urn:a', '/relative'] }],
  [EVERY, { uri_sans: 'http://[::1' }],
  [EVERY, { other_sans: '1.2.3;IA5:some' }],
  [EVERY, { format: 'p7b' }],
  [EVERY, { key_type: 'rsa', signature_bits: 255 }],
  [SIGNED, { max_path_length: -2 }],
  [SIGNED, { not_after: '2031-02-30T04:05:06Z' }],
  [SIGNED, { not_after: '2031-02-03T04:05:06Z', ttl: '1h' }],
  [BELOW, { skid: '0g' }],
  [BELOW, { csr: '' }],
];
for (const [ways, fields] of REFUSED) {
  test(`${ways.join(', ')} with ${JSON.stringify(fields)} is refused`, async () => {
    for (const way of ways) assert.equal((await ask(way, fields)).status, 400, way);
  });
}

/** Each with the forms that it is sent in, and what is read then. */
const SETTINGS: readonly [field: string, forms: unknown[], read: unknown][] = [
  ['issuer_name', ['other'], 'other'],
  ['leaf_not_after_behavior', ['always_enforce_err'], 'always_enforce_err'],
  ['leaf_not_after_behavior', ['truncate'], 'truncate'],
  ['leaf_not_after_behavior', ['permit'], 'permit'],
  ['manual_chain', [['self'], 'self'], 'itself'],
  ['usage', ['crl-signing', ['crl-signing'], 'read-only,crl-signing'], 'crl-signing,read-only'],
  ['revocation_signature_algorithm', ['ECDSAWithSHA384'], 'ECDSAWithSHA384'],
  [
    'issuing_certificates',
    ['http://a.test/a,http://b.test/', ['http://a.test/a', 'http://b.test/']],
    ['http://a.test/a', 'http://b.test/'],
  ],
  ['crl_distribution_points', ['http://a.test/', ['http://a.test/']], ['http://a.test/']],
  ['ocsp_servers', ['http://a.test/', ['http://a.test/']], ['http://a.test/']],
  ['enable_aia_url_templating', [true, 'true'], true],
];
for (const [field, forms, read] of SETTINGS) {
  test(`${field} of an issuer is patched to ${JSON.stringify(read)} and changes nothing else; a write that leaves it out gives it its default`, async () => {
    const made = await call('POST', 'pki/root/generate/internal', {
      common_name: field,
      key_type: 'ec',
    });
    const id = made.textAt('data.issuer_id');
    const path = `pki/issuer/${id}`;
    for (const sent of forms) {
      const fresh = (await call('POST', path, {})).field('data') as Fields;
      const value = read === 'itself' ? [id] : read;
      const patched = await call('PATCH', path, { [field]: sent });
      assert.equal(patched.status, 200, patched.text);
      assert.deepEqual(patched.field('data'), { ...fresh, [field]: value }, JSON.stringify(sent));
      assert.deepEqual((await call('GET', path)).field('data'), patched.field('data'));
      const written = (await call('POST', path, {})).field('data') as Fields;
      assert.notDeepEqual(written[field], value);
      const again = await call('POST', path, { [field]: sent });
      assert.deepEqual(again.field(`data.${field}`), value, 'a write takes it, too');
    }
  });
}

test('an issuer of which nothing was said has the defaults of every setting', async () => {
  const made = await call('POST', 'pki/root/generate/internal', {
    common_name: 'D',
    key_type: 'ec',
  });
  const path = `pki/issuer/${made.textAt('data.issuer_id')}`;
  const data = (await call('GET', path)).field('data') as Fields;
  const { issuer_name, leaf_not_after_behavior, manual_chain, usage } = data;
  assert.deepEqual(
    { issuer_name, leaf_not_after_behavior, manual_chain, usage },
    {
      issuer_name: '',
      leaf_not_after_behavior: 'err',
      manual_chain: null,
      usage: 'crl-signing,issuing-certificates,ocsp-signing,read-only',
    },
  );
  const { issuing_certificates, crl_distribution_points, ocsp_servers, enable_aia_url_templating } =
    data;
  assert.deepEqual([issuing_certificates, crl_distribution_points, ocsp_servers], [[], [], []]);
  assert.equal(enable_aia_url_templating, false);
});
