import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cpuOf } from '../../test/support/cpu-time.ts';
import type { NameConstraints } from './name-constraints.ts';
import { type ConstrainedNames, judgeNameConstraints } from './subtrees.ts';

const nothing: NameConstraints = {
  permitted_dns_domains: [],
  excluded_dns_domains: [],
  permitted_ip_ranges: [],
  excluded_ip_ranges: [],
  permitted_email_addresses: [],
  excluded_email_addresses: [],
  permitted_uri_domains: [],
  excluded_uri_domains: [],
};

const verdicts: [
  constraints: Partial<NameConstraints>,
  names: Partial<ConstrainedNames>,
  allowed: boolean,
][] = [
  [{}, { dns: ['anything'], ip: ['1.2.3.4'] }, true],
  [{ permitted_dns_domains: ['a.test'] }, { dns: ['a.test', 'b.A.test', '*.a.test'] }, true],
  [{ permitted_dns_domains: ['a.test'] }, { dns: ['a.test.'] }, false],
  [{ permitted_dns_domains: ['a.test'] }, { dns: ['nota.test'] }, false],
  [{ permitted_dns_domains: ['a.test'] }, { dns: ['a.test', 'b.test'] }, false],
  [{ permitted_dns_domains: ['a.test', 'b.test'] }, { dns: ['a.test', 'b.test'] }, true],
  [{ permitted_dns_domains: ['.a.test'] }, { dns: ['b.a.test'] }, true],
  [{ permitted_dns_domains: ['.a.test'] }, { dns: ['a.test'] }, false],
  [{ permitted_dns_domains: ['b.a.test'] }, { dns: ['*.a.test'] }, false],
  [{ permitted_dns_domains: ['a.test'] }, { ip: ['1.2.3.4'], email: ['me@b.test'] }, true],
  [
    { permitted_dns_domains: ['a.test'], excluded_dns_domains: ['x.a.test'] },
    { dns: ['y.a.test'] },
    true,
  ],
  [
    { permitted_dns_domains: ['a.test'], excluded_dns_domains: ['x.a.test'] },
    { dns: ['y.x.a.test'] },
    false,
  ],
  [{ excluded_dns_domains: ['x.a.test'] }, { dns: ['*.a.test'] }, false],
  [{ excluded_dns_domains: ['x.a.test'] }, { dns: ['*.b.test'] }, true],
  [{ excluded_dns_domains: [''] }, { dns: ['a.test'] }, false],
  [{ permitted_dns_domains: ['a.test'] }, { dns: ['x.a.test.'] }, false],
  [{ excluded_dns_domains: ['a.test'] }, { dns: ['x.a.test.'] }, false],
  [{ excluded_dns_domains: ['a.test'] }, { dns: ['x.b.test.'] }, true],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'b.test' }, false],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'b_b.test' }, false],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'x.A.test' }, true],
  [{ excluded_dns_domains: ['a.test'] }, { common_name: 'x.a.test' }, false],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'b.test', dns: ['a.test'] }, true],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'Bank of Test' }, true],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'Bank' }, true],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'St. Bank' }, true],
  [{ permitted_ip_ranges: ['10.0.0.0/8'] }, { common_name: 'b.test' }, true],
  [{ permitted_ip_ranges: ['10.0.0.0/8'] }, { ip: ['10.255.0.1'] }, true],
  [{ permitted_ip_ranges: ['10.0.0.0/8'] }, { ip: ['11.0.0.1'] }, false],
  [{ permitted_ip_ranges: ['10.0.0.0/8'] }, { ip: ['2001:db8::1'] }, false],
  [{ excluded_ip_ranges: ['10.0.0.0/8'] }, { ip: ['2001:db8::1'] }, true],
  [{ excluded_ip_ranges: ['2001:db8::/32'] }, { ip: ['2001:db8::1'] }, false],
  [{ excluded_ip_ranges: ['0.0.0.0/0'] }, { ip: ['1.2.3.4'] }, false],
  [{ permitted_email_addresses: ['a.test'] }, { email: ['me@A.test'] }, true],
  [{ permitted_email_addresses: ['a.test'] }, { email: ['me@b.a.test'] }, false],
  [{ permitted_email_addresses: ['.a.test'] }, { email: ['me@b.a.test'] }, true],
  [{ permitted_email_addresses: ['.a.test'] }, { email: ['me@a.test'] }, false],
  [{ permitted_email_addresses: ['me@a.test'] }, { email: ['me@A.TEST'] }, true],
  [{ permitted_email_addresses: ['me@a.test'] }, { email: ['Me@a.test'] }, false],
  [{ excluded_email_addresses: ['a.test'] }, { email: ['no mailbox'] }, false],
  [{ permitted_uri_domains: ['a.test'] }, { uri: ['https://user@a.test:8443/path?x#y'] }, true],
  [{ permitted_uri_domains: ['a.test'] }, { uri: ['https://b.a.test/'] }, false],
  [{ permitted_uri_domains: ['.a.test'] }, { uri: ['https://b.a.test'] }, true],
  [{ permitted_uri_domains: ['a.test'] }, { uri: ['https://a.test@b.test/'] }, false],
  [{ permitted_uri_domains: ['a.test'] }, { uri: ['https://b.test/@a.test'] }, false],
  [{ permitted_uri_domains: ['a.test'] }, { uri: ['https://b.test\\@a.test/'] }, false],
  [{ permitted_uri_domains: ['a.test'] }, { uri: ['urn:uuid:1'] }, false],
  [{ excluded_uri_domains: ['a.test'] }, { uri: ['urn:uuid:1'] }, false],
  [{ excluded_uri_domains: ['a.test'] }, { uri: ['https://192.0.2.1/'] }, false],
  [{ excluded_uri_domains: ['a.test'] }, { uri: ['https://b.test/'] }, true],
];
for (const [constraints, names, allowed] of verdicts) {
  test(`${JSON.stringify(constraints)} ${allowed ? 'lets pass' : 'stops'} ${JSON.stringify(names)}`, () => {
    const verdict = judgeNameConstraints(
      { ...nothing, ...constraints },
      { dns: [], email: [], ip: [], uri: [], ...names },
    );
    assert.equal(verdict.allowed, allowed);
  });
}

test('a refusal names the constraint that a name is excluded by', () => {
  const constraints = { ...nothing, excluded_dns_domains: ['b.test', 'A.test'] };
  const verdict = judgeNameConstraints(constraints, {
    dns: ['x.a.test'],
    email: [],
    ip: [],
    uri: [],
  });
  assert.deepEqual(verdict, {
    allowed: false,
    because: 'DNS name "x.a.test" is excluded by constraint "A.test"',
  });
});

test('thousands of names under thousands of subtrees of each kind are judged without delay', () => {
  const many = (count: number, make: (index: number) => string): string[] =>
    Array.from({ length: count }, (_, index) => make(index));
  const constraints: NameConstraints = {
    permitted_dns_domains: many(10_000, (i) => `d${i}.test`),
    excluded_dns_domains: many(10_000, (i) => `x${i}.test`),
    permitted_ip_ranges: many(10_000, (i) => `10.${i >> 8}.${i & 255}.0/24`),
    excluded_ip_ranges: many(10_000, (i) => `11.${i >> 8}.${i & 255}.0/24`),
    permitted_email_addresses: many(10_000, (i) => `.d${i}.test`),
    excluded_email_addresses: many(10_000, (i) => `u${i}@a.d9999.test`),
    permitted_uri_domains: many(10_000, (i) => `d${i}.test`),
    excluded_uri_domains: many(10_000, (i) => `x${i}.test`),
  };
  const names: ConstrainedNames = {
    dns: many(4900, (i) => `n${i}.a.b.c.d9999.test`),
    ip: many(4900, (i) => `10.39.${i & 15}.1`),
    email: many(4900, (i) => `n${i}@a.d9999.test`),
    uri: many(4900, () => 'https://d9999.test/'),
  };
  let verdict: unknown;
  const spent = cpuOf(() => {
    verdict = judgeNameConstraints(constraints, names);
  });
  assert.deepEqual(verdict, { allowed: true });
  assert.ok(spent < 500, `${spent} ms`);
});
