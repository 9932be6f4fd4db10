import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { DAY, makeCsr, makeIssuing, NOW } from '../../../test/support/leaves.ts';
import { NO_CONSTRAINTS } from '../../../test/support/no-constraints.ts';
import { crlDistributionPoints } from '../../x509/extension-urls.ts';
import {
  basicConstraints,
  type Extension,
  findExtension,
  parseBasicConstraints,
  parseSubjectKeyIdentifier,
  subjectAltName,
} from '../../x509/extensions.ts';
import { parseSubjectAltName } from '../../x509/general-names.ts';
import { keyUsage, parseKeyUsage } from '../../x509/key-usages.ts';
import { lintTbsCertificate } from '../../x509/lint.ts';
import {
  type NameConstraints,
  nameConstraints,
  parseNameConstraints,
} from '../../x509/name-constraints.ts';
import { parseName, type SubjectFields } from '../../x509/names.ts';
import { EXTENSION_OID } from '../../x509/oids.ts';
import { readCsr } from './csr-rules.ts';
import {
  intermediateCsrFields,
  intermediateFields,
  planIntermediate,
  planIntermediateCsr,
} from './intermediate.ts';
import type { IssuingFacts } from './issuing.ts';
import { planCertificate } from './plan.ts';

interface Wanted {
  body?: Record<string, unknown>;
  issuer?: Partial<IssuingFacts>;
  csr?: { subject?: SubjectFields; extensions?: Extension[]; key?: 'ec' | 'rsa-1024' | 'mldsa-44' };
}

const schema = z.object(intermediateFields);

function plan({ body = { common_name: 'Sub' }, issuer = {}, csr = {} }: Wanted = {}) {
  const signed = readCsr(makeCsr(csr));
  const planned = planIntermediate(schema.parse(body), signed, {
    issuer: makeIssuing(issuer),
    mount: { default_ttl: 32 * DAY, max_ttl: 32 * DAY },
    now: NOW,
  });
  const tbs = planCertificate(planned.certificate, {
    subjectPublicKeyInfo: signed.csr.subjectPublicKeyInfo,
    key: signed.key,
    serialNumber: Uint8Array.of(1),
  });
  assert.deepEqual(lintTbsCertificate(tbs), []);
  const read = <T>(type: keyof typeof EXTENSION_OID, parse: (value: Uint8Array) => T) => {
    const extension = findExtension(tbs.extensions, EXTENSION_OID[type]);
    return extension && parse(extension.value);
  };
  return { ...planned, tbs, read, csr: signed.csr };
}

const someNames = subjectAltName(
  { dns: ['csr.test'], email: [], ip: [], uri: [], other: [] },
  false,
);

test('a CA may sign certificates and CRLs, and has no extended key usage', () => {
  const { tbs, read, warnings } = plan();
  assert.deepEqual(read('basicConstraints', parseBasicConstraints), { ca: true });
  assert.deepEqual(read('keyUsage', parseKeyUsage), ['CertSign', 'CRLSign']);
  assert.equal(findExtension(tbs.extensions, EXTENSION_OID.extKeyUsage), undefined);
  assert.equal(tbs.notAfter, NOW + 32 * DAY);
  assert.deepEqual(warnings, []);
});

test('of a CA whose key only signs the other key usages are left out, with a warning', () => {
  const body = { common_name: 'Sub', key_usage: 'DigitalSignature,KeyEncipherment' };
  const { read, warnings } = plan({ body, csr: { key: 'mldsa-44' } });
  assert.deepEqual(read('keyUsage', parseKeyUsage), ['DigitalSignature', 'CertSign', 'CRLSign']);
  assert.match(warnings.join(), /key_usage KeyEncipherment was left out: a key of type mldsa only/);
});

test('further key usages are added, unknown names have no effect', () => {
  const { read } = plan({ body: { common_name: 'Sub', key_usage: 'digitalsignature,Fly' } });
  assert.deepEqual(read('keyUsage', parseKeyUsage), ['DigitalSignature', 'CertSign', 'CRLSign']);
});

const lengths: [issuer: number | undefined, wanted: number, planned: number | undefined][] = [
  [undefined, -1, undefined],
  [undefined, 0, 0],
  [undefined, 3, 3],
  [1, -1, 0],
  [3, -1, 2],
  [3, 1, 1],
  [3, 9, 2],
];
for (const [issuer, wanted, planned] of lengths) {
  test(`path length ${wanted} under an issuer of ${issuer ?? 'none'} is ${planned ?? 'none'}`, () => {
    const { read, warnings } = plan({
      body: { common_name: 'Sub', max_path_length: wanted },
      ...(issuer !== undefined && { issuer: { path_length: issuer } }),
    });
    assert.equal(read('basicConstraints', parseBasicConstraints)?.pathLength, planned);
    assert.equal(warnings.length, wanted === 9 ? 1 : 0);
  });
}

test('a path length below -1 is refused, whatever the issuer has', () => {
  const body = { common_name: 'Sub', max_path_length: -2 };
  for (const issuer of [{}, { path_length: 3 }]) {
    assert.throws(() => plan({ body, issuer }), /^Failure: max_path_length: -2/);
  }
});

test('an issuer whose path length is zero signs no CA', () => {
  assert.throws(() => plan({ issuer: { path_length: 0 } }), /has a max path length of zero/);
});

test('what the request says is ignored unless its values are wanted', () => {
  const { tbs, read } = plan({
    csr: { subject: { common_name: 'CSR' }, extensions: [someNames] },
  });
  assert.equal(parseName(tbs.subject).fields.common_name, 'Sub');
  assert.equal(read('subjectAltName', parseSubjectAltName), undefined);
});

test('with use_csr_values subject, names and extensions are those of the request', () => {
  const custom: Extension = { oid: '1.2.3.4', critical: false, value: Uint8Array.of(5, 0) };
  const usage = keyUsage(['KeyAgreement']);
  assert.ok(usage);
  const { tbs, read, csr, names } = plan({
    body: { common_name: 'Sub', use_csr_values: true, organization: 'ignored' },
    csr: { subject: { common_name: 'CSR' }, extensions: [someNames, custom, usage] },
  });
  assert.deepEqual(tbs.subject, csr.subject);
  assert.deepEqual(read('subjectAltName', parseSubjectAltName)?.dns, ['csr.test']);
  assert.deepEqual(findExtension(tbs.extensions, '1.2.3.4'), custom);
  assert.deepEqual(read('keyUsage', parseKeyUsage), ['KeyAgreement', 'CertSign', 'CRLSign']);
  assert.equal(names.common_name, 'CSR');
});

test('with use_csr_values it is a CA all the same, with the path length of the issuer', () => {
  const { read } = plan({
    body: { use_csr_values: true },
    issuer: { path_length: 2 },
    csr: {
      subject: { common_name: 'CSR' },
      extensions: [basicConstraints({ ca: false })],
    },
  });
  assert.deepEqual(read('basicConstraints', parseBasicConstraints), { ca: true, pathLength: 1 });
});

test('with use_csr_values the request cannot lift the constraints put on it', () => {
  const own = nameConstraints({ permitted_dns_domains: ['wide.test'] });
  const points = crlDistributionPoints(['http://csr.test/crl']);
  assert.ok(own && points);
  const csr = { subject: { common_name: 'CSR' }, extensions: [own, points] };
  const { read, tbs } = plan({
    body: { use_csr_values: true, permitted_dns_domains: 'narrow.test' },
    csr,
  });
  assert.deepEqual(read('nameConstraints', parseNameConstraints)?.permitted_dns_domains, [
    'narrow.test',
  ]);
  assert.equal(findExtension(tbs.extensions, EXTENSION_OID.cRLDistributionPoints), undefined);
  const without = plan({ body: { use_csr_values: true }, csr });
  assert.deepEqual(
    without.read('nameConstraints', parseNameConstraints)?.permitted_dns_domains,
    ['wide.test'],
    'its own stand where none are put on it',
  );
});

const CONSTRAINTS: (keyof NameConstraints)[] = [
  'permitted_dns_domains',
  'excluded_dns_domains',
  'permitted_email_addresses',
  'excluded_email_addresses',
  'permitted_uri_domains',
  'excluded_uri_domains',
];
for (const field of CONSTRAINTS) {
  test(`${field} reaches the certificate`, () => {
    const { read } = plan({ body: { common_name: 'Sub', [field]: 'a.test' } });
    assert.deepEqual(read('nameConstraints', parseNameConstraints)?.[field], ['a.test']);
  });
}

test('ranges of addresses reach the certificate, what is no range is refused', () => {
  const { read } = plan({
    body: {
      common_name: 'Sub',
      permitted_ip_ranges: '10.0.0.0/8',
      excluded_ip_ranges: '10.1.0.0/16',
    },
  });
  const parsed = read('nameConstraints', parseNameConstraints);
  assert.deepEqual(parsed?.permitted_ip_ranges, ['10.0.0.0/8']);
  assert.deepEqual(parsed?.excluded_ip_ranges, ['10.1.0.0/16']);
  const bad = { common_name: 'Sub', permitted_ip_ranges: '10.0.0.0' };
  assert.throws(() => plan({ body: bad }), { kind: 'invalid' });
});

test('it ends with its issuer and says so, unless the issuer always enforces its end', () => {
  const issuer = { not_after: NOW + DAY };
  const { tbs, warnings } = plan({ issuer });
  assert.equal(tbs.notAfter, NOW + DAY);
  assert.match(warnings.join(), /is after the CA's expiration time/);
  assert.throws(
    () => plan({ issuer: { ...issuer, behavior: 'always_enforce_err' } }),
    /beyond the expiration/,
  );
  const enforced = { common_name: 'Sub', enforce_leaf_not_after_behavior: true };
  assert.throws(() => plan({ issuer, body: enforced }), /beyond the expiration/);
});

test('skid replaces the key identifier, in hex with or without separators', () => {
  for (const skid of ['01:02:aB', '01-02-ab', '01 02 AB', '0102ab']) {
    const { read } = plan({ body: { common_name: 'Sub', skid } });
    assert.deepEqual(
      [...(read('subjectKeyIdentifier', parseSubjectKeyIdentifier) ?? [])],
      [1, 2, 0xab],
    );
  }
  for (const skid of ['0', 'xx', '01:0']) {
    assert.throws(() => plan({ body: { common_name: 'Sub', skid } }), /skid is not a key/);
  }
});

test('a CA needs a subject, a strong key and names its issuer permits', () => {
  assert.throws(() => plan({ body: {} }), /common_name is required/);
  assert.throws(() => plan({ body: { use_csr_values: true } }), /CSR has no subject/);
  assert.throws(() => plan({ csr: { key: 'rsa-1024' } }), /RSA keys < 2048 bits/);
  const constraints = { ...NO_CONSTRAINTS, permitted_dns_domains: ['a.test'] };
  const issuer = { name_constraints: [constraints] };
  assert.throws(
    () => plan({ body: { common_name: 'Sub', alt_names: 'b.test' }, issuer }),
    /name constraints/,
  );
  assert.ok(plan({ body: { common_name: 'Sub', alt_names: 'x.a.test' }, issuer }));
});

const serving: [common_name: string, key_usage: string, allowed: boolean][] = [
  ['b.test', 'CertSign', true],
  ['b.test', 'CertSign,DigitalSignature', false],
  ['*.b.test', 'KeyEncipherment', false],
  ['*.a.test', 'KeyEncipherment', true],
  ['Sub', 'DigitalSignature', true],
];
for (const [common_name, key_usage, allowed] of serving) {
  test(`a CA CN=${common_name} for ${key_usage} is ${allowed ? 'made' : 'refused'} under constraints, from parameters and from a CSR`, () => {
    const constraints = { ...NO_CONSTRAINTS, permitted_dns_domains: ['a.test'] };
    const issuer = { name_constraints: [constraints] };
    for (const wanted of [
      { body: { common_name, key_usage, exclude_cn_from_sans: true } },
      { body: { use_csr_values: true, key_usage }, csr: { subject: { common_name } } },
    ]) {
      if (allowed) assert.ok(plan({ ...wanted, issuer }));
      else assert.throws(() => plan({ ...wanted, issuer }), /name constraints refuse it/);
    }
  });
}

test('a request for a CA has its subject and names, and CA:TRUE only where asked for', () => {
  const csrSchema = z.object(intermediateCsrFields);
  const body = { common_name: 'sub.test', organization: 'Org' };
  const plain = planIntermediateCsr(csrSchema.parse(body));
  assert.equal(parseName(plain.subject).fields.common_name, 'sub.test');
  assert.deepEqual(
    plain.extensions.map(({ oid }) => oid),
    [EXTENSION_OID.subjectAltName],
  );
  const stated = planIntermediateCsr(csrSchema.parse({ ...body, add_basic_constraints: true }));
  assert.deepEqual(stated.extensions[0], basicConstraints({ ca: true }));
  assert.throws(() => planIntermediateCsr(csrSchema.parse({})), /common_name is required/);
});
