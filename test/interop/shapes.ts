/** Certificates of every shape that the server makes, for other people's tools to judge. */

import type { Client } from '../support/server.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface Issued {
  /** What was asked for, for messages. */
  shape: string;
  /** The root's name among the roots. */
  root: string;
  role: Fields;
  certificate: string;
}

type Call = Client['call'];

/** Roots by name: the keys and what a root can say about itself. */
export const ROOTS: Readonly<Record<string, Fields>> = {
  'ec-224': { key_type: 'ec', key_bits: 224 },
  'ec-256': { key_type: 'ec' },
  'ec-384': { key_type: 'ec', key_bits: 384, max_path_length: 0 },
  'ec-521': { key_type: 'ec', key_bits: 521, max_path_length: 3 },
  ed25519: { key_type: 'ed25519' },
  'rsa-2048': { key_type: 'rsa' },
  'rsa-sha512': { key_type: 'rsa', signature_bits: 512 },
  'rsa-pss': { key_type: 'rsa', key_bits: 3072, use_pss: true },
  'full-subject': {
    key_type: 'ec',
    ou: ['B', 'A', 'Größe'],
    organization: 'Foo & Söhne, <GmbH>',
    country: 'CH',
    locality: 'Zürich',
    province: 'ZH',
    street_address: '1 High St',
    postal_code: '8000',
    serial_number: 'R-1',
  },
  constrained: {
    key_type: 'ec',
    permitted_dns_domains: ['example.com', '.example.net'],
    excluded_dns_domains: 'bad.example.com',
    permitted_ip_ranges: ['10.0.0.0/8', 'fd00::/8'],
    excluded_ip_ranges: '10.9.0.0/16',
    permitted_email_addresses: ['example.com', 'a@example.org'],
    permitted_uri_domains: '.example.com',
  },
  'named-alternatively': {
    key_type: 'ec',
    alt_names: 'ca.example.com,ca@example.com',
    uri_sans: 'urn:ca',
  },
};

const keys: Fields[] = [
  { key_type: 'ec', key_bits: 224 },
  { key_type: 'ec' },
  { key_type: 'ec', key_bits: 384 },
  { key_type: 'ec', key_bits: 521 },
  { key_type: 'ed25519' },
  { key_type: 'rsa' },
];

const usages: string[][] = [
  ['DigitalSignature', 'KeyAgreement', 'KeyEncipherment'],
  ['DigitalSignature'],
  ['KeyEncipherment'],
  ['KeyAgreement'],
  ['KeyAgreement', 'EncipherOnly'],
  ['ContentCommitment'],
  ['DataEncipherment'],
  [],
];

const purposes: Fields[] = [
  {},
  { client_flag: false },
  { server_flag: false },
  { server_flag: false, client_flag: false },
  { server_flag: false, client_flag: false, code_signing_flag: true },
  { server_flag: false, client_flag: false, email_protection_flag: true },
  { code_signing_flag: true, email_protection_flag: true },
  { server_flag: false, client_flag: false, ext_key_usage: 'TimeStamping' },
  { server_flag: false, client_flag: false, ext_key_usage: 'OCSPSigning' },
  { ext_key_usage: 'Any,IPSECUser', ext_key_usage_oids: '1.3.6.1.4.1.311.20.2.2' },
];

const request = { common_name: 'www.example.com' };

const subjects: Fields[] = [
  { ou: 'A' },
  { ou: ['Z', 'A', 'M'] },
  { organization: 'Foo, Inc.', country: 'US', locality: 'San José', province: 'CA' },
  { street_address: ['1 High St', '2 Low St'], postal_code: '8000' },
  { organization: 'O'.repeat(64), ou: 'U'.repeat(64) },
  { organization: '日本語', locality: 'emoji 🎉' },
];

const names: Fields[] = [
  { alt_names: 'a.example.com,b.example.com' },
  { alt_names: '*.example.com' },
  { common_name: '*.example.com' },
  { common_name: 'user@example.com' },
  { alt_names: 'user@example.com' },
  { ip_sans: '10.0.0.1,fd00::1' },
  { uri_sans: 'spiffe://a.example.com/b,https://b.example.com/?q=1' },
  { other_sans: '1.3.6.1.4.1.311.20.2.3;UTF8:Jürgen@example.com' },
  { alt_names: 'bücher.example.com' },
  { alt_names: 'user@example.com', ip_sans: '10.0.0.1', uri_sans: 'https://b.example.com/' },
  { alt_names: Array.from({ length: 100 }, (_, at) => `n${at}.example.com`).join(',') },
  { exclude_cn_from_sans: true, alt_names: 'b.example.com' },
  { common_name: '', alt_names: 'a.example.com' },
  { common_name: '', alt_names: 'user@example.com' },
  { common_name: `${'a'.repeat(50)}.example.com` },
  { common_name: `${'a'.repeat(60)}.example.com` },
  { serial_number: 'S-1', user_ids: 'bob,eve' },
];

const rest: Fields[] = [
  { basic_constraints_valid_for_non_ca: true },
  { policy_identifiers: '1.3.6.1.4.1.7.8,2.23.140.1.2.1' },
  {
    policy_identifiers:
      '[{"oid":"1.3.6.1.4.1.7.8","cps":"https://cps.example.com/","notice":"Hear!"}]',
  },
  { not_before_duration: '24h' },
  { ttl: '30s' },
  { ttl: '262800h' },
  { ttl: 0, not_after: '2049-12-31T23:59:59Z' },
  { ttl: 0, not_after: '2050-01-01T00:00:00Z' },
  { ttl: 0, not_after: '9999-12-31T23:59:59Z' },
];

const LAX: Fields = {
  key_type: 'ec',
  // Suits every type of key and both purposes that are on by default.
  key_usage: 'DigitalSignature',
  allow_any_name: true,
  require_cn: false,
  allowed_uri_sans: '*',
  allowed_other_sans: '*',
  allowed_serial_numbers: '*',
  allowed_user_ids: '*',
  ttl: '1h',
};

/**
 * Makes the roots, and leaves of every shape, by issuing and by signing.
 *
 * @param csrs signing requests in PEM, by what they are
 * @throws Error with the answer, where a shape is refused
 */
export async function issueShapes(
  call: Call,
  csrs: Readonly<Record<string, string>>,
): Promise<{ roots: Record<string, string>; leaves: Issued[] }> {
  const config = { max_lease_ttl: '876000h' };
  await must(call, 'sys/mounts/pki', { type: 'pki', config }, 204);
  await must(call, 'sys/mounts/linked', { type: 'pki', config }, 204);
  await must(call, 'linked/config/urls', {
    issuing_certificates: 'http://ca.example.com/ca.der,ldap://ca.example.com/cn=ca',
    crl_distribution_points: 'http://ca.example.com/ca.crl',
    ocsp_servers: 'http://ocsp.example.com',
  });
  const roots: Record<string, string> = {};
  const leaves: Issued[] = [];
  const end = { not_after: '9999-12-31T23:59:59Z' };
  const addRoot = async (mount: string, name: string, fields: Fields): Promise<void> => {
    const body = { common_name: `Root ${name}`, issuer_name: name, ...end, ...fields };
    const made = await must(call, `${mount}/root/generate/internal`, body);
    roots[name] = made.textAt('data.certificate');
  };
  for (const [name, fields] of Object.entries(ROOTS)) await addRoot('pki', name, fields);
  await addRoot('linked', 'with-urls', { key_type: 'ec' });

  const add = async (root: string, role: Fields, asked: Fields, verb = 'issue'): Promise<void> => {
    const mount = root === 'with-urls' ? 'linked' : 'pki';
    await must(call, `${mount}/roles/x`, { ...LAX, ...role });
    const made = await must(call, `${mount}/issuer/${root}/${verb}/x`, { ...request, ...asked });
    const { csr: _, ...told } = asked;
    const shape = `${root}: ${verb} ${JSON.stringify({ ...role, ...told })}`;
    const certificate = made.textAt('data.certificate');
    leaves.push({ shape, root, role: { ...LAX, ...role }, certificate });
  };
  for (const root of Object.keys(roots)) {
    for (const key of keys) {
      // RSA keys take long to make; one root suffices for them.
      if (key.key_type !== 'rsa' || root === 'ec-256') await add(root, key, {});
    }
    if (root === 'constrained') continue;
    for (const use_pss of [true, false]) {
      if (root.startsWith('rsa')) await add(root, { use_pss, signature_bits: 384 }, {});
    }
    const [csr] = Object.values(csrs);
    await add(root, {}, { csr }, 'sign');
  }
  for (const key of keys) await add('ec-256', { ...key, key_usage: usages[0] }, {});
  for (const key_usage of usages) {
    for (const purpose of purposes) await add('ec-256', { key_usage, ...purpose }, {});
  }
  for (const root of ['ec-256', 'rsa-2048', 'with-urls']) {
    for (const subject of subjects) await add(root, subject, {});
    for (const [at, asked] of names.entries()) {
      await add(root, {}, asked);
      const csr = Object.values(csrs)[at % Object.keys(csrs).length];
      const role = { key_type: 'any', use_csr_common_name: false, use_csr_sans: false };
      await add(root, role, { csr, ...asked }, 'sign');
    }
    for (const role of rest) await add(root, role, {});
  }
  for (const csr of Object.values(csrs)) await add('ec-256', { key_type: 'any' }, { csr }, 'sign');
  for (const asked of [
    { alt_names: 'a.example.net,b@example.com,a@example.org' },
    { ip_sans: '10.8.1.1,fd00::1', uri_sans: 'https://a.example.com/' },
  ]) {
    await add('constrained', {}, asked);
  }
  return { roots, leaves };
}

async function must(call: Call, path: string, body: Fields, status = 200) {
  const answer = await call('POST', path, body);
  if (answer.status !== status) {
    throw new Error(`${path} ${JSON.stringify(body)}: ${answer.status} ${answer.text}`);
  }
  return answer;
}
