import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY, makeContext, NOW } from '../../../test/support/leaves.ts';
import { Failure } from '../../core/failure.ts';
import { formatTimestamp } from '../../core/timestamps.ts';
import { utf8String } from '../../x509/der.ts';
import { readDescribed, withRest } from './cel-template.ts';
import { planIssue } from './leaf.ts';

const at = (seconds: number): string => formatTimestamp(NOW + seconds);
const base64 = (...bytes: number[]): string => Buffer.from(bytes).toString('base64');
const describe = (template: object, rest: object = {}) =>
  readDescribed({ key_type: 'ec', ...rest, template }, { now: NOW, isForCsr: false });

function plan(template: object, rest: object = {}) {
  const described = describe(template, rest);
  return withRest(planIssue(described.role, described.request, makeContext()), described);
}

test('what a program describes is what the certificate has', () => {
  const value = Buffer.from(utf8String('x')).toString('base64');
  const { certificate, warnings } = plan(
    {
      Subject: { CommonName: 'not a host', Country: ['ZW'], SerialNumber: '7' },
      NotBefore: at(-60).replace('Z', '.75Z'),
      NotAfter: at(3600),
      KeyUsage: 5,
      ExtKeyUsage: ['ExtKeyUsageServerAuth', 2],
      UnknownExtKeyUsage: [{ arc: [1, 2, 3] }],
      DNSNames: ['*.a.test', 'bücher.test'],
      EmailAddresses: ['a@b.test'],
      IPAddresses: [{ IP: base64(10, 0, 0, 1) }],
      URIs: [{ Scheme: 'spiffe', Host: 'a.test', Path: 'x/y', RawQuery: 'q', Fragment: 'f' }],
      ExtraExtensions: [{ Id: ['1', '3', '6', '1'], Critical: true, Value: value }],
      BasicConstraintsValid: true,
    },
    { warnings: ['told'], subject_key_id: base64(1, 2) },
  );
  assert.equal(Math.floor(certificate.notBefore), NOW - 60);
  assert.equal(certificate.notAfter, NOW + 3600);
  assert.deepEqual(certificate.key_usage, ['DigitalSignature', 'KeyEncipherment']);
  assert.deepEqual(certificate.ext_key_usage, ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2', '1.2.3']);
  assert.deepEqual(certificate.names.dns, ['*.a.test', 'xn--bcher-kva.test']);
  assert.deepEqual(certificate.names.email, ['a@b.test']);
  assert.deepEqual(certificate.names.ip, ['10.0.0.1']);
  assert.deepEqual(certificate.names.uri, ['spiffe://a.test/x/y?q#f']);
  assert.deepEqual(certificate.basic_constraints, { ca: false });
  assert.deepEqual([...(certificate.subject_key_id ?? [])], [1, 2]);
  const [extra] = certificate.extra_extensions;
  assert.deepEqual([extra?.oid, extra?.critical], ['1.3.6.1', true]);
  assert.deepEqual(warnings, ['told']);
});

test('the mount cuts what would last too long, and gives its default where no end is named', () => {
  const long = plan({ DNSNames: ['a.test'], NotAfter: at(9 * DAY * 365) });
  const { mount } = makeContext();
  assert.equal(long.certificate.notAfter, NOW + mount.max_ttl);
  assert.match(long.warnings.join(), /longer than permitted maxTTL/);
  const open = plan({ DNSNames: ['a.test'] });
  assert.equal(open.certificate.notAfter, NOW + mount.default_ttl);
});

const REFUSED: readonly [template: object, rest: object, field: string][] = [
  [{ NotAfter: at(0) }, {}, 'template.NotAfter'],
  [{ NotAfter: at(-5) }, {}, 'template.NotAfter'],
  [{ DNSNames: ['a.test,b.test'] }, {}, 'template.DNSNames[0]'],
  [{ DNSNames: ['a.test', 'x@a.test'] }, {}, 'template.DNSNames[1]'],
  [{ DNSNames: ['a b'] }, {}, 'template.DNSNames[0]'],
  [{ DNSNames: [''] }, {}, 'template.DNSNames[0]'],
  [{ DNSNames: ['a.*.test'] }, {}, 'template.DNSNames[0]'],
  [{ EmailAddresses: ['a@b.test,c@d.test'] }, {}, 'template.EmailAddresses[0]'],
  [{ IPAddresses: [{}] }, {}, 'template.IPAddresses[0]'],
  [{ URIs: [{ Scheme: 'a', Host: 'b/c' }] }, {}, 'template.URIs[0].Host'],
  [{ URIs: [{ Scheme: 'a', User: { username: 'x' } }] }, {}, 'template.URIs[0].User'],
  [{ KeyUsage: 512 }, {}, 'template.KeyUsage'],
  [{ KeyUsage: -1 }, {}, 'template.KeyUsage'],
  [{ ExtKeyUsage: [99] }, {}, 'template.ExtKeyUsage[0]'],
  [{ IsCA: true }, {}, 'template.IsCA'],
  [{ MaxPathLen: '1' }, {}, 'template.MaxPathLen'],
  [{ PermittedDNSDomains: ['x'] }, {}, 'template.PermittedDNSDomains'],
  [{ PolicyMappings: [{}] }, {}, 'template.PolicyMappings'],
  [
    { ExtraExtensions: [{ Id: ['2', '5', '29', '19'], Value: 'BQA=' }] },
    {},
    'template.ExtraExtensions[0].Id',
  ],
  [
    { ExtraExtensions: [{ Id: ['2', '5', '29', '99'], Value: 'BQA=' }] },
    {},
    'template.ExtraExtensions[0].Id',
  ],
  [{ ExtraExtensions: [{ Id: ['9'], Value: 'BQA=' }] }, {}, 'template.ExtraExtensions[0].Id'],
  [
    { ExtraExtensions: [{ Id: ['1', '2', '3'], Value: 'BQE=' }] },
    {},
    'template.ExtraExtensions[0].Value',
  ],
  [{}, { key_type: 'dsa' }, 'key_type'],
  [{}, { key_bits: 7 }, 'key_bits'],
  [{}, { subject_key_id: base64(...Array(65).fill(1)) }, 'subject_key_id'],
];

for (const [template, rest, field] of REFUSED) {
  test(`${JSON.stringify({ template, ...rest })} is refused by its field ${field}`, () => {
    assert.throws(
      () => describe(template, rest),
      (error) =>
        error instanceof Failure &&
        error.kind === 'invalid' &&
        Object.keys(error.detail.fields ?? {}).join() === field,
    );
  });
}
