import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../core/failure.ts';
import { fieldErrors } from '../../core/fields.ts';
import { patchRole, planRole } from './plan.ts';
import { parsePolicyIdentifiers } from './policy-identifiers.ts';
import {
  describeRole,
  rolePatchSchema,
  roleReplySchema,
  roleSchema,
  warnOfIssuer,
} from './role.ts';

const REFUSED = Symbol('refused');

/** Plans a role as a client would write it; the first complaint when it is refused. */
function write(body: Record<string, unknown>) {
  const parsed = roleSchema.safeParse(body);
  if (!parsed.success) {
    return { refused: Object.values(fieldErrors(parsed.error)).join(), role: undefined };
  }
  try {
    return { refused: undefined, ...planRole(parsed.data) };
  } catch (failure) {
    assert.ok(failure instanceof Failure && failure.kind === 'invalid');
    return { refused: failure.message, role: undefined };
  }
}

test('a role written without fields has every field with its default', () => {
  const { role } = write({});
  assert.ok(role);
  assert.deepEqual(describeRole(role), {
    issuer_ref: 'default',
    ttl: 0,
    max_ttl: 0,
    allow_localhost: true,
    allowed_domains: [],
    allowed_domains_template: false,
    allow_bare_domains: false,
    allow_subdomains: false,
    allow_glob_domains: false,
    allow_globs_in_identity_templates: false,
    allow_wildcard_certificates: true,
    allow_any_name: false,
    allowed_extensions: [],
    allowed_sids: [],
    enforce_hostnames: true,
    allow_ip_sans: true,
    allowed_ip_sans_cidr: [],
    allowed_uri_sans: [],
    allowed_uri_sans_template: false,
    allowed_other_sans: [],
    allowed_serial_numbers: [],
    allowed_user_ids: [],
    must_staple: false,
    server_flag: true,
    client_flag: true,
    code_signing_flag: false,
    email_protection_flag: false,
    key_type: 'rsa',
    key_bits: 2048,
    signature_bits: 256,
    use_pss: false,
    key_usage: ['DigitalSignature', 'KeyAgreement', 'KeyEncipherment'],
    ext_key_usage: [],
    ext_key_usage_oids: [],
    use_csr_common_name: true,
    use_csr_sans: true,
    ou: [],
    organization: [],
    country: [],
    locality: [],
    province: [],
    street_address: [],
    postal_code: [],
    generate_lease: false,
    no_store: false,
    no_store_metadata: false,
    require_cn: true,
    cn_validations: ['email', 'hostname'],
    policy_identifiers: [],
    basic_constraints_valid_for_non_ca: false,
    not_before_duration: 30,
    not_after: '',
    not_after_bound: 'permit',
    not_before: '',
    not_before_bound: 'permit',
    allow_token_displayname: false,
    serial_number_source: 'json-csr',
  });
  assert.deepEqual(roleReplySchema.parse(describeRole(role)), describeRole(role));
});

test('every field is described', () => {
  for (const [name, field] of Object.entries(roleSchema.shape)) {
    assert.ok(field.description, name);
  }
});

/** For each field, a value as clients send it and what it is read back as; then the nearest "no". */
const fields: [field: string, sent: unknown, echoed: unknown, refused: unknown][] = [
  ['issuer_ref', '', 'default', ['a']],
  ['ttl', '1h', 3600, '-1h'],
  ['max_ttl', 7200, 7200, '1w'],
  ['allow_localhost', 'false', false, 'no'],
  ['allowed_domains', 'a.test, b.test', ['a.test', 'b.test'], { a: 1 }],
  ['allowed_domains_template', true, true, 'maybe'],
  ['allow_bare_domains', 1, true, 2],
  ['allow_subdomains', true, true, []],
  ['allow_glob_domains', 't', true, 'y'],
  ['allow_globs_in_identity_templates', 'true', true, 'yes'],
  ['allow_wildcard_certificates', false, false, 'off'],
  ['allow_any_name', true, true, 'on'],
  ['enforce_hostnames', false, false, ''],
  ['allow_ip_sans', '0', false, '2'],
  ['allowed_ip_sans_cidr', '10.0.0.0/8,::1', ['10.0.0.0/8', '::1'], '10.0.0.0/33'],
  ['allowed_uri_sans', 'spiffe://a/*', ['spiffe://a/*'], [{}]],
  ['allowed_uri_sans_template', true, true, 'x'],
  ['allowed_other_sans', '1.3.6;utf-8:a*', ['1.3.6;utf-8:a*'], '1.3.6;UTF16:a'],
  ['allowed_serial_numbers', ['f*', 'b'], ['f*', 'b'], [[]]],
  ['allowed_user_ids', 'a,*', ['a', '*'], {}],
  ['server_flag', false, false, 'x'],
  ['client_flag', false, false, 'x'],
  ['code_signing_flag', true, true, 'x'],
  ['email_protection_flag', true, true, 'x'],
  ['key_type', 'ed25519', 'ed25519', 'dsa'],
  ['key_bits', '4096', 4096, 2560],
  ['signature_bits', 512, 512, 128],
  ['use_pss', true, true, 'x'],
  ['key_usage', '', [], {}],
  ['ext_key_usage', 'TimeStamping', ['TimeStamping'], {}],
  ['ext_key_usage_oids', '1.2.3,1.2.4', ['1.2.3', '1.2.4'], 'not-an-oid'],
  ['use_csr_common_name', false, false, 'x'],
  ['use_csr_sans', false, false, 'x'],
  ['ou', ['Foo, Inc.'], ['Foo, Inc.'], {}],
  ['organization', 'a,b', ['a', 'b'], {}],
  ['country', 'DE', ['DE'], {}],
  ['locality', 'x', ['x'], {}],
  ['province', 'x', ['x'], {}],
  ['street_address', ['1 A St'], ['1 A St'], {}],
  ['postal_code', 12345, ['12345'], {}],
  ['generate_lease', true, true, 'x'],
  ['no_store', true, true, 'x'],
  ['no_store_metadata', true, true, 'x'],
  ['require_cn', false, false, 'x'],
  ['cn_validations', 'hostname', ['hostname'], 'host'],
  ['policy_identifiers', '1.2.3', ['1.2.3'], '1.2.x'],
  ['basic_constraints_valid_for_non_ca', true, true, 'x'],
  ['not_before_duration', '5m', 300, -1],
  ['not_after', '9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z', '9999-12-31'],
  ['must_staple', 'true', true, 'yes'],
  ['allowed_sids', 'S-1-5-21-*', ['S-1-5-21-*'], [{}]],
  ['allowed_extensions', '1.2.3.4', ['1.2.3.4'], '2.5.29.17'],
  ['not_before', '2030-01-31T12:00:00Z', '2030-01-31T12:00:00Z', 'yesterday'],
  ['not_before_bound', 'duration', 'duration', 'ttl-limited'],
  ['not_after_bound', 'ttl-limited', 'ttl-limited', 'ttl'],
  ['serial_number_source', 'json', 'json', 'csr'],
];

test('the table of fields names every field of a role', () => {
  assert.deepEqual(fields.map(([name]) => name).sort(), Object.keys(roleSchema.shape).sort());
});

for (const [field, sent, echoed, refused] of fields) {
  test(`${field}: ${JSON.stringify(sent)} is kept, ${JSON.stringify(refused)} refused`, () => {
    const { role } = write({ [field]: sent });
    assert.deepEqual(role && { ...role }[field], echoed);
    assert.notEqual(write({ [field]: refused }).refused, undefined);
  });
}

const keys: [
  body: Record<string, unknown>,
  bits: [number, number] | typeof REFUSED,
  why: string,
][] = [
  [{ key_type: 'ec' }, [256, 0], 'EC falls to P-256, and the curve decides the hash'],
  [{ key_type: 'ec', signature_bits: 384 }, [256, 384], 'EC echoes the hash given'],
  [{ key_type: 'ec', key_bits: 2048 }, REFUSED, 'an RSA size is no curve'],
  [{ key_type: 'ec', key_bits: 521 }, [521, 0], 'P-521'],
  [{ key_type: 'ec', key_bits: 512 }, REFUSED, 'there is no P-512'],
  [{ key_type: 'ec', signature_bits: 521 }, [256, 521], 'and any size, which has no meaning there'],
  [{ key_type: 'any', signature_bits: 384 }, [0, 0], 'any has no hash of its own'],
  [{ key_type: 'any', key_bits: 3072 }, [3072, 0], 'any keeps a size'],
  [{ key_type: 'ed25519', key_bits: 7 }, [7, 0], 'Ed25519 keeps a size that means nothing'],
  [{ key_bits: 1024 }, REFUSED, 'RSA 1024 is unsafe'],
  [{ key_bits: 2047 }, REFUSED, 'RSA 2047 is unsafe'],
  [{ key_bits: 2560 }, REFUSED, 'RSA 2560 is not offered'],
  [{ key_bits: 8192 }, [8192, 256], 'RSA 8192'],
  [{ signature_bits: 128 }, REFUSED, 'there is no SHA-128'],
];

for (const [body, expected, why] of keys) {
  test(why, () => {
    const { role } = write(body);
    assert.deepEqual(role ? [role.key_bits, role.signature_bits] : REFUSED, expected);
  });
}

test('refusals carry the phrases clients look for', () => {
  const phrases: [Record<string, unknown>, string][] = [
    [{ key_type: 'dsa' }, 'unknown key type dsa'],
    [{ key_bits: 1024 }, 'RSA keys < 2048 bits are unsafe and not supported: got 1024'],
    [{ key_bits: 2560 }, 'unsupported bit length for RSA key: 2560'],
    [{ signature_bits: 128 }, 'unsupported hash signature algorithm: 128'],
    [{ ttl: '10h', max_ttl: '1h' }, '"ttl" value must be less than "max_ttl" value'],
    [{ allowed_other_sans: 'x' }, 'error parsing allowed_other_sans'],
    [{ cn_validations: 'x' }, 'cn_validations value incorrect'],
    [{ policy_identifiers: 'x' }, 'could not parse'],
    [{ ttl: -1 }, 'cannot provide negative value'],
  ];
  for (const [body, phrase] of phrases) {
    const { refused } = write(body);
    assert.ok(refused?.includes(phrase), `${refused} has ${phrase}`);
  }
});

test('ttl beyond max_ttl is refused, equal ones and a ttl without maximum are accepted', () => {
  assert.notEqual(write({ ttl: '2h', max_ttl: '1h' }).refused, undefined);
  assert.equal(write({ ttl: '1h', max_ttl: '1h' }).refused, undefined);
  assert.equal(write({ ttl: '2h' }).refused, undefined);
});

test('no_store takes priority over generate_lease, with a warning', () => {
  const both = planRole(roleSchema.parse({ no_store: true, generate_lease: true }));
  assert.equal(both.role.generate_lease, false);
  assert.match(both.warnings.join(), /mutually exclusive values no_store=true/);
  const one = planRole(roleSchema.parse({ generate_lease: true }));
  assert.equal(one.role.generate_lease, true);
  assert.deepEqual(one.warnings, []);
});

test('an issuer that does not exist yet is a warning, not a refusal', () => {
  const named = planRole(roleSchema.parse({ issuer_ref: 'later' })).role;
  assert.match(warnOfIssuer(named, false).join(), /set to later but no issuing certificate/);
  assert.deepEqual(warnOfIssuer(named, true), []);
  const byDefault = planRole(roleSchema.parse({})).role;
  assert.match(warnOfIssuer(byDefault, false).join(), /no default issuing certificate/);
});

test('a patch changes what it names and nothing else', () => {
  const all = Object.fromEntries(fields.map(([name, sent]) => [name, sent]));
  const before = planRole(
    roleSchema.parse({ ...all, key_type: 'rsa', no_store: false, issuer_ref: 'x', max_ttl: '9h' }),
  ).role;
  const after = patchRole(before, rolePatchSchema.parse({ ttl: '3h' })).role;
  assert.deepEqual(after, { ...before, ttl: 10_800 });
});

test('a patch with null changes nothing, with an empty list or zero it does', () => {
  const before = planRole(roleSchema.parse({ ttl: 60, ou: 'a', issuer_ref: 'x' })).role;
  const kept = patchRole(before, rolePatchSchema.parse({ ttl: null, ou: null })).role;
  assert.deepEqual(kept, before);
  const emptied = patchRole(before, rolePatchSchema.parse({ ttl: 0, ou: [], issuer_ref: '' })).role;
  assert.deepEqual(emptied, { ...before, ttl: 0, ou: [], issuer_ref: 'default' });
});

test('changing only key_type of an RSA role is refused, with fitting key_bits it is not', () => {
  const rsa = planRole(roleSchema.parse({})).role;
  assert.throws(() => patchRole(rsa, rolePatchSchema.parse({ key_type: 'ec' })), {
    kind: 'invalid',
  });
  const patched = patchRole(rsa, rolePatchSchema.parse({ key_type: 'ec', key_bits: 0 })).role;
  assert.equal(patched.key_bits, 256);
});

test('a patch is judged as a whole: a ttl beyond the stored max_ttl is refused', () => {
  const role = planRole(roleSchema.parse({ max_ttl: '1h' })).role;
  assert.throws(() => patchRole(role, rolePatchSchema.parse({ ttl: '2h' })), { kind: 'invalid' });
});

const validations: [unknown, string[] | typeof REFUSED, string][] = [
  [[], ['email', 'hostname'], 'an empty list means the default pair'],
  [['disabled'], ['disabled'], 'disabled stands alone'],
  [['email', 'disabled'], REFUSED, 'disabled with another is refused'],
  [['email', 'email'], REFUSED, 'a repetition is refused'],
  [['Email'], ['email'], 'letter case is no matter'],
];
for (const [sent, kept, why] of validations) {
  test(`cn_validations: ${why}`, () => {
    assert.deepEqual(write({ cn_validations: sent }).role?.cn_validations ?? REFUSED, kept);
  });
}

test('policies with qualifiers are taken as JSON text, as list and as objects', () => {
  const qualified = { oid: '1.2.3', cps: 'https://ca.test/cps', notice: 'be careful' };
  for (const sent of [JSON.stringify([qualified]), [JSON.stringify(qualified)], [qualified]]) {
    const { role } = write({ policy_identifiers: sent });
    assert.deepEqual(role?.policy_identifiers, [JSON.stringify(qualified)]);
    assert.deepEqual(parsePolicyIdentifiers(role.policy_identifiers), [qualified]);
  }
});

const badPolicies: [unknown, string][] = [
  ['[{"oid":"1.2.3","cps":"no url"}]', 'a cps with a blank'],
  ['[{"oid":"1.2.3","cpz":"https://a.test"}]', 'an unknown part'],
  ['[{"cps":"https://a.test"}]', 'no object identifier'],
  ['1.2.3,1.2.3', 'the same policy twice'],
  [`[{"oid":"1.2.3","notice":"${'x'.repeat(201)}"}]`, 'a notice of 201 characters'],
  ['[{"oid":"1.2.3"', 'broken JSON'],
];
for (const [sent, why] of badPolicies) {
  test(`policy_identifiers: ${why} is refused`, () => {
    assert.notEqual(write({ policy_identifiers: sent }).refused, undefined);
  });
}

test('allowed_other_sans: "*" is accepted alone, and refused among others', () => {
  assert.equal(write({ allowed_other_sans: '*' }).refused, undefined);
  assert.notEqual(write({ allowed_other_sans: '*,1.2.3;UTF8:*' }).refused, undefined);
});

test('a role written again without a field has its default again', () => {
  assert.equal(write({ allow_localhost: false }).role?.allow_localhost, false);
  assert.equal(write({}).role?.allow_localhost, true);
});

test('a usage name that means nothing is kept with a warning', () => {
  const planned = planRole(roleSchema.parse({ key_usage: 'digitalsignature, Fly' }));
  assert.deepEqual(planned.role.key_usage, ['digitalsignature', 'Fly']);
  assert.match(planned.warnings.join(), /"Fly" is unknown/);
});

test('a stored role reads back as it was stored', () => {
  const { role } = write({ policy_identifiers: '[{"oid":"1.2.3","notice":"n"}]', key_type: 'ec' });
  assert.deepEqual(roleSchema.parse(JSON.parse(JSON.stringify(role))), role);
});
