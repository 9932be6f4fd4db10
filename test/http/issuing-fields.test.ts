/** What a role and a request say, field by field, in the certificates of `issue`, `sign` and `sign-verbatim`, with OpenSSL as
 *  the judge of what has become of it. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { makeCsr } from '../support/leaves.ts';
import { withOpenssl } from '../support/openssl.ts';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
type Fields = Record<string, unknown>;

let csr = '';
before(async () => {
  csr = makeCsr({ subject: { common_name: 'a.test' } });
  await call('POST', 'sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '876000h' } });
  const root = { common_name: 'R', ttl: '800000h' };
  await call('POST', 'pki/root/generate/internal', { ...root, key_type: 'ec' });
  const rsa = await call('POST', 'pki/root/generate/internal', { ...root, issuer_name: 'rsa' });
  assert.equal(rsa.status, 200, rsa.text);
});

type Way = 'issue' | 'sign' | 'sign-verbatim';
const BY_ROLE: readonly Way[] = ['issue', 'sign'];
const ALL: readonly Way[] = ['issue', 'sign', 'sign-verbatim'];

const ask = (way: Way, fields: Fields) =>
  call('POST', `pki/${way}/it`, {
    ...(way === 'issue' ? { common_name: 'a.test' } : { csr }),
    ...fields,
  });

/** What OpenSSL says of a certificate that is issued by a role under those rules. */
async function issue(
  way: Way,
  rules: Fields,
  fields: Fields,
): Promise<{ status: number; text: string }> {
  const role = { key_type: 'ec', allow_any_name: true, ...rules };
  const written = await call('POST', 'pki/roles/it', role);
  assert.equal(written.status, 200, written.text);
  const reply = await ask(way, fields);
  if (reply.status !== 200) return { status: reply.status, text: reply.text };
  let text = '';
  withOpenssl(({ write, must }) => {
    write('it.pem', reply.textAt('data.certificate'));
    text = must('x509', '-in', 'it.pem', '-noout', '-text', '-nameopt', 'RFC2253');
  });
  return { status: reply.status, text };
}

const RSA = { issuer_ref: 'rsa' };
const part = (field: string, rdn: string): [rules: Fields, says: RegExp] => [
  { [field]: ['Aa', 'Bb'] },
  new RegExp(`Subject: .*${rdn}=(Aa\\+${rdn}=Bb|Bb\\+${rdn}=Aa)`, 'i'),
];

/** What a role says that its certificates then have, and that those of a role without it have not. */
const OF_ROLES: readonly [rules: Fields, says: RegExp][] = [
  part('ou', 'OU'),
  part('organization', 'O'),
  part('country', 'C'),
  part('locality', 'L'),
  part('province', 'ST'),
  part('street_address', 'street'),
  part('postal_code', 'postalCode'),
  [{ server_flag: false }, /Extended Key Usage:\s+TLS Web Client Authentication\n/],
  [{ client_flag: false }, /Extended Key Usage:\s+TLS Web Server Authentication\n/],
  [{ code_signing_flag: true }, /TLS Web Server.*TLS Web Client.*, Code Signing\n/],
  [{ email_protection_flag: true }, /TLS Web Server.*TLS Web Client.*, E-mail Protection\n/],
  [{ ext_key_usage: 'timestamping' }, /TLS Web Server.*TLS Web Client.*, Time Stamping\n/],
  [{ ext_key_usage_oids: '1.2.3.4' }, /TLS Web Server.*TLS Web Client.*, 1\.2\.3\.4\n/],
  [{ key_usage: 'digitalsignature' }, /Key Usage: critical\s+Digital Signature\n/],
  [{ key_usage: [] }, /X509v3 extensions:\s+X509v3 Extended Key Usage/],
  [{ policy_identifiers: '1.2.3.4' }, /Policy: 1\.2\.3\.4\n/],
  [{ basic_constraints_valid_for_non_ca: true }, /Basic Constraints: critical\s+CA:FALSE/],
  [{ not_after: '2031-02-03T04:05:06Z' }, /Not After : Feb {2}3 04:05:06 2031 GMT/],
  [RSA, /Issuer: CN=R\n[\s\S]*Signature Algorithm: sha256WithRSA/],
  [{ ...RSA, signature_bits: 512 }, /Signature Algorithm: sha512WithRSA/],
  [{ ...RSA, use_pss: true }, /Signature Algorithm: rsassaPss/],
];
for (const [rules, says] of OF_ROLES) {
  test(`a role with ${JSON.stringify(rules)} is seen in what it issues and signs, and one without it is not`, async () => {
    for (const way of BY_ROLE) {
      assert.match((await issue(way, rules, {})).text, says, way);
      assert.doesNotMatch((await issue(way, {}, {})).text, says, way);
    }
  });
}

/** What a role has to let in, what is then asked for, and what the certificate has. */
const OF_REQUESTS: readonly [ways: readonly Way[], rules: Fields, forms: Fields[], says: RegExp][] =
  [
    [['issue'], {}, [{ common_name: 'b.test' }], /Subject: CN=b\.test\n/],
    [['sign'], { use_csr_common_name: false }, [{ common_name: 'b.test' }], /Subject: CN=b\.test/],
    [
      BY_ROLE,
      { use_csr_sans: false },
      [{ alt_names: 'b.test,m@b.test' }],
      /DNS:b\.test[\s\S]*email:m@b\.test|email:m@b\.test[\s\S]*DNS:b\.test/,
    ],
    [
      BY_ROLE,
      { use_csr_sans: false },
      [{ ip_sans: '192.0.2.1,::1' }, { ip_sans: ['192.0.2.1', '::1'] }],
      /IP Address:192\.0\.2\.1, IP Address:0:0:0:0:0:0:0:1/,
    ],
    [
      BY_ROLE,
      { use_csr_sans: false, allowed_uri_sans: 'urn:*' },
      [{ uri_sans: 'urn:a,urn:b' }, { uri_sans: ['urn:a', 'urn:b'] }],
      /URI:urn:a, URI:urn:b/,
    ],
    [
      BY_ROLE,
      { allowed_other_sans: '1.2.3;UTF8:s*' },
      [
        { other_sans: '1.2.3;UTF8:so' },
        { other_sans: ['1.2.3;utf-8:so'] },
        { other_sans: '["1.2.3;UTF8:so"]' },
      ],
      /othername: 1\.2\.3::so/,
    ],
    [BY_ROLE, { allowed_serial_numbers: 'a*' }, [{ serial_number: 'a7' }], /serialNumber=a7/],
    [
      BY_ROLE,
      { allowed_user_ids: 'h*' },
      [{ user_ids: 'h1,h2' }, { user_ids: ['h1', 'h2'] }],
      /UID=(h1\+UID=h2|h2\+UID=h1)/,
    ],
    [['sign-verbatim'], {}, [{ user_ids: 'h1' }], /UID=h1/],
    [ALL, {}, [{ not_after: '2031-02-03T04:05:06Z' }], /Not After : Feb {2}3 04:05:06 2031 GMT/],
    [
      ['sign-verbatim'],
      {},
      [{ key_usage: 'keyagreement' }, { key_usage: ['KeyAgreement'] }],
      /Key Usage: critical\s+Key Agreement\n/,
    ],
    [
      ['sign-verbatim'],
      {},
      [{ key_usage: [] }, { key_usage: '' }],
      /X509v3 extensions:\s+X509v3 Subject Key Identifier/,
    ],
    [
      ['sign-verbatim'],
      {},
      [{ ext_key_usage: 'serverauth' }, { ext_key_usage: ['ServerAuth'] }],
      /Extended Key Usage:\s+TLS Web Server Authentication\n/,
    ],
    [
      ['sign-verbatim'],
      {},
      [{ ext_key_usage_oids: '1.2.3' }, { ext_key_usage_oids: ['1.2.3'] }],
      /Extended Key Usage:\s+1\.2\.3\n/,
    ],
    [['sign-verbatim'], RSA, [{ signature_bits: 384 }], /Signature Algorithm: sha384WithRSA/],
    [['sign-verbatim'], RSA, [{ use_pss: true }], /Signature Algorithm: rsassaPss/],
  ];
for (const [ways, rules, forms, says] of OF_REQUESTS) {
  test(`${ways.join(' and ')} with ${JSON.stringify(forms[0])} has it, under a role that lets it in`, async () => {
    for (const way of ways) {
      for (const fields of forms) {
        const { text } = await issue(way, rules, fields);
        assert.match(text, says, `${way} of ${JSON.stringify(fields)}`);
      }
      assert.doesNotMatch((await issue(way, rules, {})).text, says, way);
    }
  });
}

/** The nearest that a role lets in, and what is beside it. */
const REFUSED: readonly [ways: readonly Way[], rules: Fields, allowed: Fields, refused: Fields][] =
  [
    [BY_ROLE, {}, {}, { not_after: '2031-02-30T04:05:06Z' }],
    [ALL, {}, { ttl: '1h' }, { ttl: '1h', not_after: '2031-02-03T04:05:06Z' }],
    [ALL, {}, { format: 'der' }, { format: 'p7b' }],
    [ALL, {}, { cert_metadata: 'YQ==' }, { cert_metadata: 'not base64' }],
    [ALL, { no_store_metadata: true }, { cert_metadata: '' }, { cert_metadata: 'YQ==' }],
    [BY_ROLE, { allowed_user_ids: 'h*' }, { user_ids: 'h1' }, { user_ids: 'h1,g1' }],
    [['sign-verbatim'], {}, { user_ids: 'anything' }, { signature_bits: 255 }],
  ];
for (const [ways, rules, allowed, refused] of REFUSED) {
  test(`${ways.join(', ')} under ${JSON.stringify(rules)}: ${JSON.stringify(allowed)} is taken, ${JSON.stringify(refused)} is refused`, async () => {
    const role = { key_type: 'ec', allow_any_name: true, ...rules };
    await call('POST', 'pki/roles/it', role);
    for (const way of ways) {
      const taken = await ask(way, allowed);
      assert.equal(taken.status, 200, `${way}: ${taken.text}`);
      assert.equal((await ask(way, refused)).status, 400, way);
    }
  });
}
