import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { ParameterValue } from '../src/acl/policy.ts';
import type { AnyRoute } from '../src/app/route.ts';
import { comparisonOf } from '../src/core/comparison.ts';
import { readerOf } from '../src/http/vault/parameters.ts';
import { authEngines, secretEngines, systemRoutes } from '../src/start/routes.ts';
import { judgeParameters } from './support/judge-parameters.ts';

// Conditions on parameters hold for what an endpoint makes of a value, however it is written: two
// values that come to the same are judged the same, at every endpoint that has the field.

const routes: AnyRoute[] = [
  ...systemRoutes,
  ...Object.values(secretEngines).flat(),
  ...Object.values(authEngines).flat(),
].filter(({ access }) => access !== 'public');

/** What a route takes beside the names in its path. */
function fieldsOf(route: AnyRoute): [name: string, field: unknown][] {
  const inPath = new Set([...route.path.matchAll(/\{(\w+)\+?\}/g)].map(([, name]) => name));
  return Object.entries(route.input.shape).filter(([name]) => !inPath.has(name));
}

function isPermitted(
  route: AnyRoute,
  name: string,
  rule: { allowed?: ParameterValue[]; denied?: ParameterValue[] },
  sent: unknown,
): boolean {
  const mapOf = (values?: ParameterValue[]) => new Map(values ? [[name, values]] : []);
  const conditions = {
    allowed_parameters: mapOf(rule.allowed),
    denied_parameters: mapOf(rule.denied),
    required_parameters: [],
  };
  return judgeParameters(conditions, { [name]: sent }, readerOf(route)) === undefined;
}

const OID = '1.3.6.1.4.1.311.20.2.3';
const HOSTS = [
  'xn--bcher-kva.example',
  'bücher.example',
  'BÜCHER.example',
  'XN--BCHER-KVA.example',
];
const BLOCKS: unknown[][] = [
  [['0.0.0.0/0'], '0.0.0.0/00', '1.2.3.4/0', ['::ffff:0:0/96']],
  [['10.0.0.0/8'], '10.1.2.3/8', ['10.0.0.0/008'], '::ffff:10.0.0.0/104', '::FFFF:a00:1/104'],
  [['192.0.2.1'], '192.0.2.1/32', '::ffff:192.0.2.1', '::ffff:c000:201/128'],
  [['2001:db8::/32'], '2001:DB8:0::1/32', ['2001:0db8:0:0:0:0:0:0/32']],
];
const POLICIES: unknown[][] = [
  [['admin'], 'admin', ' Admin ', ['ADMIN', ''], '["admin"]', 'admin,admin'],
  [['ΟΔΟΣ'], 'οδοσ', ['ΟΔΟσ']],
  [['a', 'b'], 'b,a', ['B', 'a', 'b']],
];
const CERTIFICATE = 'MAA=';
const PEM = [
  `-----BEGIN X-----\n${CERTIFICATE}\n-----END X-----`,
  `-----BEGIN X-----\r\n M A\n A = \n-----END X-----\n`,
  `about it\n-----BEGIN X-----${CERTIFICATE}-----END X-----`,
];
const NAMES = [['web', ' web ', '\tweb']];
const REFERENCES = [['default', '', 'Default', 'DEFAULT']];
const SERIALS = [['0a:0b', '0A-0B', 'a0b', '000a0b', '00:0a:0b']];
const KEY_FORMATS = [['der', '', 'pem', 'anything']];
const TIMES = [['2030-01-01T12:00:00Z', '2030-01-01T13:00:00+01:00', '2030-01-01t12:00:00.5z']];
const DURATIONS = [['72h', '3d', '259200', 259_200, '259200.5', '4320m']];
const USAGES = [
  [
    ['DigitalSignature', 'KeyAgreement'],
    'keyagreement, DIGITALSIGNATURE',
    ['KeyAgreement', '', 'digitalSignature'],
  ],
];
const POLICY = 'path "sys/raw" { capabilities = ["sudo"] }';

/** By field: values that come to the same. The first of each row is one that a policy would name. */
const SAME: Record<string, unknown[][]> = {
  common_name: [HOSTS.slice(0, 2), ['ops@xn--bcher-kva.example', 'ops@bücher.example']],
  alt_names: [
    HOSTS.slice(0, 2),
    ['a.test', ' a.test ', 'a.test,'],
    ['*.xn--bcher-kva.example', '*.bücher.example'],
    ['a.test,ops@xn--bcher-kva.example', 'a.test, ops@bücher.example'],
  ],
  allowed_domains: [HOSTS, ['a.test', ['A.test']]],
  allowed_user_ids: [['ops', 'OPS', ['Ops']]],
  ip_sans: [
    ['::1', '0:0:0:0:0:0:0:1', ['0::1']],
    ['192.0.2.1', '::ffff:192.0.2.1', ['::FFFF:c000:201']],
    ['2001:db8::a', '2001:0DB8::A'],
  ],
  other_sans: [[`${OID};UTF8:a@b.test`, `${OID};utf-8:a@b.test`, [`${OID} ; UTF8 : a@b.test `]]],
  allowed_other_sans: [[`${OID};UTF8:*`, `${OID};utf-8:*`, [`${OID}; utf8 :*`]]],
  permitted_ip_ranges: [['10.0.0.0/8', '10.1.2.3/8', ['10.255.255.255/8']]],
  excluded_ip_ranges: [['2001:db8::/32', '2001:DB8::1/32', ['2001:db8:0:0:0:0:0:0/32']]],
  key_usage: USAGES,
  ext_key_usage: [[['ServerAuth', 'TimeStamping'], 'timestamping,SERVERAUTH']],
  cn_validations: [[['email', 'hostname'], 'HostName,Email', [], '']],
  policy_identifiers: [
    ['1.2.3', ['{"oid":"1.2.3"}'], [{ oid: '1.2.3', cps: '' }], '[{"oid":"1.2.3"}]'],
    [
      '{"oid":"1.2.3","cps":"https://a.test"}',
      [{ cps: ' https://a.test', oid: '1.2.3' }],
      '[{"cps":"https://a.test","oid":"1.2.3"}]',
    ],
  ],
  issuer_ref: REFERENCES,
  key_ref: REFERENCES,
  default: [['default', 'Default']],
  manual_chain: [[['default'], 'DEFAULT']],
  issuer_name: NAMES,
  key_name: NAMES,
  serial_number: SERIALS,
  skid: [['0102ab', '01:02:AB', '01-02-ab', '01 02 aB']],
  certificate: [PEM],
  webhook_ca: [PEM],
  before: [[['72h'], '3d', [259_200], '259200.5,4320m']],
  issuers: [[['default'], 'DEFAULT']],
  csr: [PEM],
  pem_bundle: [PEM],
  private_key: [PEM],
  trusted_ca: [PEM],
  trusted_leaf_certificate_bundle: [PEM],
  vault_client_cert_bundle: [PEM],
  private_key_format: KEY_FORMATS,
  reason: [
    ['keyCompromise', 'KEYCOMPROMISE', '1', 1],
    ['unspecified', '0', ''],
  ],
  not_after: TIMES,
  not_before: TIMES,
  not_before_bound: [...TIMES, ['permit', '']],
  not_after_bound: [...TIMES, ['permit', '']],
  usage: [
    [['read-only', 'crl-signing'], 'crl-signing', ['crl-signing', 'read-only', 'crl-signing']],
  ],
  expiry: DURATIONS,
  next_update: DURATIONS,
  ocsp_expiry: DURATIONS,
  auto_rebuild_grace_period: DURATIONS,
  delta_rebuild_interval: DURATIONS,
  pause_duration: DURATIONS,
  max_crl_entries: [[100_000, 0, -2, '100000', '-7']],
  key_bits: [],
  signature_bits: [],
  not_before_duration: [[30, '30s', '30']],
  default_lease_ttl: [
    ['24h', '1d', 86_400, '86400', '86400.9'],
    [0, 'system', '0', '0s'],
  ],
  max_lease_ttl: [['87600h', '3650d', 315_360_000, '315360000.5']],
  from: [
    ['ca2', 'ca2/', '/ca2', '/ca2/', 'ca2//'],
    ['auth/up', '/auth/up/'],
  ],
  to: [
    ['ca9', 'ca9/', '/ca9//'],
    ['auth/up', '/auth/up/'],
  ],
  passthrough_request_headers: [[['x-a'], 'x-a', ['', 'x-a']]],
  allowed_response_headers: [[['x-a'], 'x-a', ['', 'x-a']]],
  audit_non_hmac_request_keys: [[['a'], 'a', ['', 'a']]],
  audit_non_hmac_response_keys: [[['a'], 'a', ['', 'a']]],
  allowed_managed_keys: [[['a'], 'a', ['', 'a']]],
  delegated_auth_accessors: [[['a'], 'a', ['', 'a']]],
  policies: POLICIES,
  token_policies: POLICIES,
  allowed_policies: POLICIES,
  disallowed_policies: POLICIES,
  allowed_policies_glob: POLICIES,
  disallowed_policies_glob: POLICIES,
  token_bound_cidrs: BLOCKS,
  secret_id_bound_cidrs: BLOCKS,
  cidr_list: BLOCKS,
  allowed_ip_sans_cidr: BLOCKS,
  metadata: [],
  display_name: [
    ['ci-job', 'ci job', 'ci/job', 'ci job!'],
    ['ci--job', 'ci  job', 'ci/-job'],
  ],
  policy: [[POLICY, Buffer.from(POLICY).toString('base64')]],
  rules: [[POLICY, Buffer.from(POLICY).toString('base64')]],
  paths: [['pki/issue/web', '/pki/issue/web', ['/pki/issue/web']]],
  path: [['pki/issue/web', '/pki/issue/web']],
  name: [],
  type: [],
  managed_key_name: [['root', 'ROOT']],
  managed_key_id: [['6f1c0b2e', '6F1C0B2E']],
  slot: [['16', '0x10', '0X10', 16, '016']],
  mechanism: [['4161', '0x1041', 4161]],
  curve: [['P256', 'p256', 'P-256', 'p-256']],
  force_rw_session: [
    ['true', 'TRUE', '1', 't', true],
    ['', 'false', '0', false],
  ],
  key_id: [['a', '0x61', '0X61']],
  valid_principals: [['ann,bob', ' ann , bob ', 'bob,ann,']],
  default_user: [['ann', ' ann ', 'ann,']],
  public_key: [['ssh-ed25519 AAAA', 'ssh-ed25519 AAAA me@here', '  ssh-ed25519  AAAA']],
  usages: [[['sign', 'verify'], 'verify,sign', ['verify', 'sign', 'sign']]],
};

test('whatever is compared in a form of its own has values of which the form is tried', () => {
  const compared = new Set(
    routes.flatMap((route) =>
      fieldsOf(route).flatMap(([name, field]) => (comparisonOf(field) ? [name] : [])),
    ),
  );
  assert.deepEqual(
    [...compared].filter((name) => !(name in SAME)),
    [],
  );
});

/** Texts and lists of texts that mean what is written, but for the case in which a denial names it. */
const AS_WRITTEN = new Set([
  // Names and ids of things, and what is looked up by them.
  'accessor', 'after', 'alias_id', 'alias_mount_accessor', 'alias_name', 'canonical_id', 'cas',
  'entity_alias', 'entity_ids', 'id', 'lease_id', 'member_entity_ids', 'member_group_ids',
  'mount_accessor', 'mounts', 'name', 'nonce', 'plugin', 'plugin_version', 'role', 'role_id',
  'scope', 'secret_id', 'secret_id_accessor', 'token', 'allowed_entity_aliases',
  // Words of a fixed set.
  'key_type', 'listing_visibility', 'plugin_name', 'revocation_signature_algorithm', 'token_type', 'type',
  // What goes into certificates, or is held against it, as it is.
  'allowed_extensions', 'allowed_serial_numbers', 'allowed_sids', 'allowed_uri_sans', 'cert_metadata', 'country', 'crl_distribution_points',
  'delta_crl_distribution_points', 'excluded_dns_domains', 'excluded_email_addresses',
  'excluded_uri_domains', 'ext_key_usage_oids', 'issuing_certificates', 'locality', 'ocsp_servers',
  'organization', 'ou', 'permitted_dns_domains', 'permitted_email_addresses',
  'permitted_uri_domains', 'postal_code', 'province', 'serial_number', 'street_address',
  'uri_sans', 'user_ids', 'sid', 'extensions',
  // Where a service is, and what of somebody it is told.
  'entity_jmespath', 'external_service_url', 'group_jmespath',
  // Lists to be signed anew, and in which form.
  'crls', 'format',
  // Where clusters are.
  'aia_path',
  // Of certificates of SSH.
  'allowed_critical_options', 'allowed_users', 'key_id_format',
  // Of devices.
  'hash_algorithm', 'key_label', 'library', 'token_label',
  // Who is warned, and of what.
  'mail_to', 'roles', 'webhook_url',
  // For people, and secrets.
  'pin', 'description', 'expiration', 'input', 'password', 'path_suffix', 'webhook_secret',
]); // biome-ignore format: one table

test('every other text is one that means what is written', () => {
  const others = new Set<string>();
  for (const [name, field] of routes.flatMap(fieldsOf)) {
    if (comparisonOf(field) || name in SAME) continue;
    const probe = readProbe(field);
    if (typeof probe === 'string' || Array.isArray(probe)) others.add(name);
  }
  assert.deepEqual(
    [...others].filter((name) => !AS_WRITTEN.has(name)),
    [],
  );
});

function readProbe(field: unknown): unknown {
  const schema = field as { safeParse(value: unknown): { data?: unknown } };
  return schema.safeParse('x y').data;
}

/** Values of all sorts, of which each field takes those that it takes. */
const ANYTHING: readonly unknown[] = [
  true, 'true', 'TRUE', 't', 'T', 1, '1', '+1', '01', 1.0, false, 'false', 'f', 0, '0', '-0', '',
  '1h', '60m', 3600, '3600', '3600s', '3600.9', '0.04d', '1h0m0s', 'a', ['a'], '["a"]', ' a ',
  'a,b', ['a', 'b'], 'a, b', '["a","b"]', '[ "a" , "b" ]', [' a', 'b '], [1], ['1'], 'k=v', ['k=v'],
  { k: 'v' }, '{"k":"v"}', 'k = v', '{"k": "v"}', '2030-01-01T00:00:00Z', '2030-01-01T01:00:00+01:00',
  1893456000, 'system', 'x', 'X', [], '[]', null,
]; // biome-ignore format: one table

const isNameable = (value: unknown): value is ParameterValue =>
  typeof value !== 'object' || value === null || Array.isArray(value);

for (const route of routes) {
  for (const [name, field] of fieldsOf(route)) {
    test(`${route.method} ${route.path}: ${name} is judged by what is made of it`, () => {
      const reader = readerOf(route);
      // The serialNumber of a subject, and the address of a cluster, are texts like others; the number of a certificate
      // and the path of a policy are not.
      const isText = ['serial_number', 'path', 'key_id'].includes(name) && !comparisonOf(field);
      const rows = (isText ? [] : (SAME[name] ?? [])).map((row) =>
        row.filter((value) => reader.read(name, value) !== undefined),
      );
      const generated = Object.values(
        Object.groupBy(ANYTHING, (value) => JSON.stringify(reader.read(name, value)) ?? ''),
      ).filter((row = []) => reader.read(name, row[0]) !== undefined && row[0] !== null);
      for (const row of [...rows, ...generated]) checkRow(route, name, row ?? []);
    });
  }
}

/** Each value of a row, named by a policy, is every value of it. */
function checkRow(route: AnyRoute, name: string, row: readonly unknown[]): void {
  for (const named of row.filter(isNameable)) {
    if (named === null || isDeepStrictEqual(named, [])) continue;
    for (const sent of row) {
      const told: string = `${JSON.stringify(named)} named, ${JSON.stringify(sent)} sent`;
      assert.equal(isPermitted(route, name, { allowed: [named] }, sent), true, `allowed: ${told}`);
      assert.equal(isPermitted(route, name, { denied: [named] }, sent), false, `denied: ${told}`);
    }
  }
}

const DENIED_TOO: [name: string, named: ParameterValue, sent: unknown, why: string][] = [
  ['key_bits', 2048, 0, '0 is the usual size'],
  ['key_bits', 256, '0', 'of another kind of key'],
  ['key_bits', 0, 2048, 'and the usual size is 0'],
  ['key_bits', 65, 0, 'of ML-DSA'],
  ['key_bits', 0, 128, 'of SLH-DSA'],
  ['signature_bits', 256, 0, 'SHA-256 where nothing else is said'],
  ['signature_bits', 0, 256, 'which is nothing else'],
  ['not_before_duration', 30, 0, 'the usual time'],
  ['policy_identifiers', '1.2.3', [{ oid: '1.2.3', cps: 'https://a.test' }], 'with a qualifier'],
  ['permitted_ip_ranges', '10.0.0.0/8', '::ffff:10.0.0.0/104', 'the same addresses as IPv6'],
  ['excluded_ip_ranges', '::ffff:10.0.0.0/104', '10.1.2.3/8', 'and as IPv4'],
  ['token_bound_cidrs', '0.0.0.0/0', '::/0', 'IPv4 is a part of IPv6'],
  ['policy', '*sudo*', POLICY.replace('sudo', 'su\\u0064o'), 'an escape hides no word'],
  ['policy', '*sudo*', POLICY.replace('sudo', '\\x73udo'), 'nor does another'],
  ['policy', '*sudo*', POLICY.replace('sudo', '\\163udo'), 'nor a third'],
  ['policy', '*sudo*', Buffer.from(POLICY).toString('base64'), 'nor base64'],
  ['common_name', '*bücher*', 'xn--bcher-kva.example', 'a pattern of the other script'],
  ['alt_names', '*.bücher.example', 'www.xn--bcher-kva.example', 'that of a part'],
  ['type', 'service', '', 'the usual kind of token'],
];
for (const [name, named, sent, why] of DENIED_TOO) {
  test(`where ${name} may not be ${JSON.stringify(named)}, it may not be ${JSON.stringify(sent)}: ${why}`, () => {
    const having = routes.filter((route) => {
      const field = fieldsOf(route).find(([each]) => each === name)?.[1];
      // Devices make no such keys.
      if (route.id === 'managed-keys-write' && why.endsWith('DSA')) return false;
      return field && readerOf(route).read(name, sent) !== undefined && comparisonOf(field);
    });
    assert.ok(having.length > 0);
    for (const route of having) {
      assert.equal(isPermitted(route, name, { denied: [named] }, sent), false, route.id);
    }
  });
}

const STILL_PERMITTED: [name: string, named: ParameterValue, sent: unknown][] = [
  ['key_bits', 4096, 0],
  ['key_bits', 2048, 4096],
  ['signature_bits', 384, 0],
  ['policy_identifiers', '1.2.3', '1.2.3.4'],
  ['permitted_ip_ranges', '10.0.0.0/8', '10.0.0.0/9'],
  ['token_bound_cidrs', '0.0.0.0/0', '128.0.0.0/1'],
  ['token_bound_cidrs', '0.0.0.0/0', '2001:db8::/32'],
  ['policy', '*sudo*', POLICY.replace('sudo', 'read')],
  ['common_name', 'xn--bcher-kva.example', 'bucher.example'],
  ['ip_sans', '::1', '::2'],
  ['other_sans', `${OID};UTF8:a@b.test`, `${OID};UTF8:b@b.test`],
  ['from', 'ca2', 'ca22'],
  ['from', 'up', 'auth/up'],
  ['max_lease_ttl', '87600h', '87601h'],
  ['issuer_ref', 'default', 'web'],
  ['private_key_format', 'der', 'pkcs8'],
  ['serial_number', '0a:0b', '0a:0c'],
  ['policies', 'admin', 'admins'],
  ['policies', 'ΟΔΟΣ', 'οδοι'],
];
for (const [name, named, sent] of STILL_PERMITTED) {
  test(`where ${name} may not be ${JSON.stringify(named)}, it may be ${JSON.stringify(sent)}`, () => {
    const having = routes.filter((route) => fieldsOf(route).some(([each]) => each === name));
    assert.ok(having.length > 0);
    for (const route of having) {
      assert.equal(isPermitted(route, name, { denied: [named] }, sent), true, route.id);
      assert.equal(isPermitted(route, name, { allowed: [named] }, sent), false, route.id);
    }
  });
}
