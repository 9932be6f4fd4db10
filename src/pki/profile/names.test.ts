import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { makeCsr, makeRole } from '../../../test/support/leaves.ts';
import { parseCsr } from '../../x509/csr.ts';
import { subjectAltName } from '../../x509/extensions.ts';
import { caNameFields, parseCaNames } from './ca-request.ts';
import { collectCsrNames, collectNames } from './names.ts';
import { issueSchema, signSchema } from './request.ts';

function collect(body: Record<string, unknown>, role: Record<string, unknown> = {}) {
  return collectNames(issueSchema.parse(body), makeRole({ require_cn: false, ...role }));
}

const csr = parseCsr(
  makeCsr({
    subject: { common_name: 'csr.test', serial_number: 'S-1', user_ids: ['csr-user'] },
    extensions: [
      subjectAltName(
        {
          dns: ['a.csr.test', 'csr.test'],
          email: ['x@csr.test'],
          ip: ['10.0.0.1'],
          uri: ['urn:a:b'],
          other: [{ oid: '1.2.3', value: 'from csr' }],
        },
        false,
      ),
    ],
  }),
);

function collectSigned(body: Record<string, unknown>, role: Record<string, unknown> = {}) {
  return collectCsrNames(signSchema.parse(body), csr, makeRole({ require_cn: false, ...role }));
}

test('the common name comes first, then alt_names in their order, whatever else there is', () => {
  const { names } = collect({
    common_name: 'foobar.com',
    alt_names: 'foo,bar',
    ip_sans: '1.2.3.4',
    other_sans: '1.3.6.1.4.1.311.20.2.3;UTF8:a',
  });
  assert.deepEqual(names.dns, ['foobar.com', 'foo', 'bar']);
  assert.deepEqual(names.ip, ['1.2.3.4']);
  assert.deepEqual(names.other, [{ oid: '1.3.6.1.4.1.311.20.2.3', value: 'a' }]);
});

test('an address is no DNS name, in whatever field it comes', () => {
  for (const address of ['1.2.3.4', '10.0.0.1.', '::1', '999.1.1.1']) {
    const { names, warnings } = collect({ common_name: address, alt_names: address });
    assert.deepEqual([names.common_name, names.dns, names.ip], [address, [], []]);
    assert.match(warnings.join(), /is no host name and was left out/);
  }
});

test('alt_names of nothing but commas adds nothing and is no mistake', () => {
  for (const alt_names of ['', ',', ' , ']) {
    const { names, warnings } = collect({ common_name: 'a.test', alt_names });
    assert.deepEqual([names.dns, names.email, warnings], [['a.test'], [], []]);
  }
});

test('the common name stays out of the alternative names where that is asked for', () => {
  const { names } = collect({ common_name: 'a.test', exclude_cn_from_sans: true });
  assert.deepEqual([names.common_name, names.dns], ['a.test', []]);
});

test('a common name that is no host name is in the subject only', () => {
  for (const common_name of ['Bank 123', 'a_b.test', '*x.test', 'x*.test']) {
    assert.deepEqual(collect({ common_name }).names.dns, []);
  }
  assert.deepEqual(collect({ common_name: '*.test.example' }).names.dns, ['*.test.example']);
});

test('a common name with "@" is an e-mail address', () => {
  assert.deepEqual(collect({ common_name: 'a@b.test' }).names.email, ['a@b.test']);
});

test('alt_names: addresses and host names part ways, later repetitions in any case are dropped', () => {
  const { names } = collect({ common_name: 'A.test', alt_names: 'a.TEST,b.test,u@b.test,b.test' });
  assert.deepEqual(names.dns, ['A.test', 'b.test']);
  assert.deepEqual(names.email, ['u@b.test']);
});

const REPEATED = {
  alt_names: 'b.test,B.test,Me@b.test,Me@B.test,me@b.test',
  ip_sans: '10.0.0.1,::ffff:10.0.0.1,::ffff:a00:1,10.0.0.2,2001:db8::1,2001:DB8:0::1',
  uri_sans: 'https://b.test/,https://b.test/,https://b.test/x',
  other_sans: '1.2.3;UTF8:a,1.2.3;utf-8:a,1.2.3;UTF8:A',
};
const ONCE = {
  dns: ['b.test'],
  email: ['Me@b.test', 'me@b.test'],
  ip: ['10.0.0.1', '10.0.0.2', '2001:db8::1'],
  uri: ['https://b.test/', 'https://b.test/x'],
  other: [
    { oid: '1.2.3', value: 'a' },
    { oid: '1.2.3', value: 'A' },
  ],
};
test('a name that is written twice, in whatever form it has, is stated once, and others stay', () => {
  const { names } = collect({ ...REPEATED, user_ids: 'u,u,U' });
  const { dns, email, ip, uri, other, user_ids } = names;
  assert.deepEqual({ dns, email, ip, uri, other }, ONCE);
  assert.deepEqual(user_ids, ['u', 'U']);
  const request = { common_name: 'Root', ...REPEATED };
  assert.deepEqual(parseCaNames(z.object(caNameFields).parse(request), 'a root'), ONCE);
});

test('alt_names of other scripts are written in ASCII, what is no host name is left out and told', () => {
  const { names, warnings } = collect({ alt_names: 'bücher.de,u@bücher.de,a_b.test' });
  assert.deepEqual(names.dns, ['xn--bcher-kva.de']);
  assert.deepEqual(names.email, ['u@xn--bcher-kva.de']);
  assert.match(warnings.join(), /"a_b.test" is no host name/);
});

test('alt_names of other scripts that no domain name can hold are refused', () => {
  assert.throws(() => collect({ alt_names: 'ü_.test' }), { kind: 'invalid' });
  assert.throws(() => collect({ alt_names: 'a@ü_.test' }), { kind: 'invalid' });
});

test('a trailing dot is kept', () => {
  assert.deepEqual(collect({ common_name: 'example.com.' }).names.dns, ['example.com.']);
});

test('a missing common name is refused, unless the role does not require one', () => {
  assert.throws(() => collect({}, { require_cn: true }), /the common_name field is required/);
  assert.equal(collect({}).names.common_name, '');
  const anonymous = parseCsr(makeCsr());
  const role = makeRole();
  assert.throws(() => collectCsrNames(signSchema.parse({}), anonymous, role), /is required/);
  const named = signSchema.parse({ common_name: 'a.test' });
  assert.equal(collectCsrNames(named, anonymous, role).names.common_name, 'a.test');
});

test('other SANs of another type than UTF8 and broken ones are refused with the phrase', () => {
  const refusals: [string, RegExp][] = [
    ['1.2.3;UTF2:a', /only utf8 other SANs are supported/],
    ['1.2.3:a', /expected a semicolon in other SAN/],
    ['1.2.3;UTF8', /expected a colon in other SAN/],
    ['x;UTF8:a', /object identifier/],
  ];
  for (const [other, phrase] of refusals) {
    assert.throws(() => collect({ other_sans: [other] }), phrase);
  }
  assert.deepEqual(collect({ other_sans: ['1.2.3;utf-8:a;b:c'] }).names.other, [
    { oid: '1.2.3', value: 'a;b:c' },
  ]);
});

test('signing takes common name and alternative names of the CSR, the common name last', () => {
  const { names, source, warnings } = collectSigned({});
  assert.equal(names.common_name, 'csr.test');
  assert.deepEqual(names.dns, ['a.csr.test', 'csr.test']);
  assert.deepEqual(names.email, ['x@csr.test']);
  assert.deepEqual(names.ip, ['10.0.0.1']);
  assert.deepEqual(names.uri, ['urn:a:b']);
  assert.deepEqual(names.other, [{ oid: '1.2.3', value: 'from csr' }]);
  assert.equal(source, 'CSR');
  assert.deepEqual(warnings, []);
});

test('parameters that the CSR overrules are told', () => {
  const { names, warnings } = collectSigned({ common_name: 'api.test', alt_names: 'b.test' });
  assert.equal(names.common_name, 'csr.test');
  assert.ok(!names.dns.includes('b.test'));
  assert.match(warnings.join(), /use_csr_common_name.*use_csr_sans/);
});

test('signing takes the parameters instead where the role says so', () => {
  const role = { use_csr_common_name: false, use_csr_sans: false };
  const { names, source } = collectSigned(
    { common_name: 'api.test', alt_names: 'b.test', ip_sans: '10.0.0.2', uri_sans: 'urn:c:d' },
    role,
  );
  assert.equal(names.common_name, 'api.test');
  assert.deepEqual(names.dns, ['api.test', 'b.test']);
  assert.deepEqual([names.ip, names.uri, names.other], [['10.0.0.2'], ['urn:c:d'], []]);
  assert.equal(source, 'the API');
});

test('other SANs of request and CSR stand together', () => {
  const { names } = collectSigned({ other_sans: '1.2.4;UTF8:b' });
  assert.deepEqual(
    names.other.map(({ oid }) => oid),
    ['1.2.3', '1.2.4'],
  );
});

test('the subject serial number is the parameter, else the CSR one unless the role forbids it', () => {
  assert.equal(collectSigned({ serial_number: 'P-1' }).names.serial_number, 'P-1');
  assert.equal(collectSigned({}).names.serial_number, 'S-1');
  assert.equal(collectSigned({}, { serial_number_source: 'json' }).names.serial_number, '');
});

test('user ids are the parameters, else those of the CSR', () => {
  assert.deepEqual(collectSigned({ user_ids: 'a,b' }).names.user_ids, ['a', 'b']);
  assert.deepEqual(collectSigned({}).names.user_ids, ['csr-user']);
});

test('more names than a certificate may have are refused before any is looked at', () => {
  const hosts = (count: number) => Array.from({ length: count }, (_, at) => `h${at}.test`).join();
  assert.equal(collect({ alt_names: hosts(5000) }).names.dns.length, 5000);
  const refused = {
    kind: 'invalid',
    message: /^(5001|more than 5000) subject alternative names, at most 5000/,
  };
  assert.throws(() => collect({ alt_names: hosts(5001) }), refused);
  assert.throws(() => collect({ alt_names: hosts(5000), ip_sans: '10.0.0.1' }), refused);
  assert.throws(() => collect({ alt_names: `${'ü_,'.repeat(5000)}a` }), refused);
});
