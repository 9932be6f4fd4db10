import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import { NO_CONSTRAINTS as nothing } from '../../test/support/no-constraints.ts';
import type { NameConstraints } from './name-constraints.ts';
import { type ConstrainedNames, type JudgedConstraints, judgeNameConstraints } from './subtrees.ts';

const UPN = '1.3.6.1.4.1.311.20.2.3';
const smtp = (value: string) => ({ oid: '1.3.6.1.5.5.7.8.9', value });

const verdicts: [
  constraints: Partial<JudgedConstraints>,
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
  [{ permitted_dns_domains: ['a.test'] }, { common_name: '*.a.test' }, true],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: '*.b.test' }, false],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'w*.b.test' }, false],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'w*.a.test' }, true],
  [{ permitted_dns_domains: ['w.a.test'] }, { common_name: 'w*.a.test' }, false],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: '*.b.test', dns: ['a.test'] }, true],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'x.*.a.test' }, false],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: '**.a.test' }, false],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: '*' }, false],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: '* of a.test' }, false],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'me@*.a.test' }, false],
  [{ excluded_dns_domains: ['a.test'] }, { common_name: '*.x.a.test' }, false],
  [{ excluded_dns_domains: ['x.a.test'] }, { common_name: '*.a.test' }, false],
  [{ excluded_dns_domains: ['x.a.test'] }, { common_name: 'x*.a.test' }, false],
  [{ excluded_dns_domains: ['x.a.test'] }, { common_name: '*.b.test' }, true],
  [{ excluded_dns_domains: ['x.a.test'] }, { common_name: '*' }, false],
  [{ permitted_ip_ranges: ['10.0.0.0/8'] }, { common_name: '*' }, true],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: '-x.b.test' }, false],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'x-.b.test' }, false],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: '-x.a.test' }, true],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'x!y.b.test' }, false],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'me@b.test' }, true],
  [{ excluded_dns_domains: ['a.test'] }, { common_name: '-x.A.test' }, false],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'b.test.' }, false],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'x.a.test.' }, false],
  [{ excluded_dns_domains: ['a.test'] }, { common_name: 'a.test.' }, false],
  [{ excluded_dns_domains: ['a.test'] }, { common_name: 'a.test..' }, false],
  [{ excluded_dns_domains: ['a.test'] }, { common_name: 'b.test.' }, true],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'bücher.b.test' }, false],
  [{ permitted_dns_domains: ['xn--bcher-kva.test'] }, { common_name: 'Bücher.test' }, true],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'xn--bcher-kva.test' }, false],
  [{ excluded_dns_domains: ['xn--bcher-kva.test'] }, { common_name: 'x.BÜCHER.test' }, false],
  [{ excluded_dns_domains: ['xn--bcher-kva.test'] }, { common_name: 'x.bucher.test' }, true],
  [{ excluded_dns_domains: ['a.test'] }, { common_name: 'x。a。test' }, false],
  [{ excluded_dns_domains: ['a.test'] }, { common_name: 'x.a\u00ad.test' }, false],
  [{ excluded_dns_domains: ['a.test'] }, { common_name: 'ａ.test' }, false],
  [{ excluded_dns_domains: ['a.test'] }, { common_name: `a${'\u00ad'.repeat(1_024)}.test` }, false],
  [{ excluded_dns_domains: ['a.test'] }, { common_name: `b${'\u00ad'.repeat(1_000)}.test` }, true],
  [{ excluded_dns_domains: ['a.test'] }, { common_name: `${'ü'.repeat(64)}.test` }, false],
  [{ excluded_dns_domains: ['a.test'] }, { common_name: `${'ü'.repeat(56)}.test` }, true],
  [{ permitted_dns_domains: ['test'] }, { common_name: `${'ü'.repeat(64)}.test` }, false],
  [{ permitted_dns_domains: ['test'] }, { common_name: `${'ü'.repeat(56)}.test` }, true],
  [
    { excluded_dns_domains: ['a.test'] },
    { common_name: 'ü'.repeat(64), is_for_servers: true },
    false,
  ],
  [{ excluded_dns_domains: ['a.test'] }, { common_name: 'ü'.repeat(64) }, true],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'host' }, true],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'host', is_for_servers: true }, false],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'host.', is_for_servers: true }, false],
  [{ permitted_dns_domains: ['host'] }, { common_name: 'Host', is_for_servers: true }, true],
  [{ excluded_dns_domains: ['host'] }, { common_name: 'Host', is_for_servers: true }, false],
  [{ excluded_dns_domains: ['a.test'] }, { common_name: 'host', is_for_servers: true }, true],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: 'A Host', is_for_servers: true }, true],
  [{ permitted_dns_domains: ['a.test'] }, { common_name: '', is_for_servers: true }, true],
  [{ permitted_ip_ranges: ['10.0.0.0/8'] }, { common_name: '10.0.0.1' }, true],
  [{ permitted_ip_ranges: ['10.0.0.0/8'] }, { common_name: '11.0.0.1' }, false],
  [{ permitted_ip_ranges: ['10.0.0.0/8'] }, { common_name: '11.0.0.1', ip: ['10.0.0.1'] }, true],
  [{ permitted_ip_ranges: ['10.0.0.0/8'] }, { common_name: '2001:db8::1' }, false],
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
  [{ permitted_email_addresses: ['a.test'] }, { other: [smtp('mé@A.test')] }, true],
  [{ permitted_email_addresses: ['a.test'] }, { other: [smtp('me@b.test')] }, false],
  [{ permitted_email_addresses: ['a.test'] }, { other: [smtp('mé@x.a.test')] }, false],
  [{ permitted_email_addresses: ['.a.test'] }, { other: [smtp('mé@x.a.test')] }, true],
  [{ permitted_email_addresses: ['a.test'] }, { other: [smtp('me@b.test@a.test')] }, true],
  [{ permitted_email_addresses: ['a.test'] }, { other: [smtp('a.test')] }, false],
  [{ permitted_email_addresses: ['a.test'] }, { other: [smtp('me@')] }, false],
  [{ permitted_email_addresses: ['me@a.test'] }, { other: [smtp('me@a.test')] }, false],
  [{ permitted_email_addresses: ['xn--bcher-kva.test'] }, { other: [smtp('m@bücher.test')] }, true],
  [{ excluded_email_addresses: ['a.test'] }, { other: [smtp('mé@a.TEST')] }, false],
  [{ excluded_email_addresses: ['me@a.test'] }, { other: [smtp('me@a.test')] }, false],
  [{ excluded_email_addresses: ['me@a.test'] }, { other: [smtp('you@a.test')] }, true],
  [{ excluded_email_addresses: ['xn--bcher-kva.test'] }, { other: [smtp('m@bücher.test')] }, false],
  [{ excluded_email_addresses: ['a.test'] }, { other: [smtp('mé@b.test')] }, true],
  [{ excluded_email_addresses: ['a.test'] }, { other: [smtp(`mé@${'ü'.repeat(64)}.test`)] }, false],
  [{ excluded_email_addresses: ['a.test'] }, { other: [smtp(`mé@${'ü'.repeat(56)}.test`)] }, true],
  [{ permitted_email_addresses: ['.test'] }, { other: [smtp(`mé@${'ü'.repeat(64)}.test`)] }, false],
  [{ permitted_email_addresses: ['a.test'] }, { other: [{ oid: UPN, value: 'me@b.test' }] }, true],
  [{ other_kinds: [0xa0] }, { other: [{ oid: UPN, value: 'me@b.test' }] }, false],
  [{ other_kinds: [0xa0] }, { other: [smtp('me@a.test')] }, false],
  [{ other_kinds: [0xa0] }, { dns: ['a.test'] }, true],
  [{ other_kinds: [0xa4] }, { other: [{ oid: UPN, value: 'me@b.test' }] }, true],
  [{ other_kinds: [0xa4] }, { unknown: [Uint8Array.of(0xa4, 2, 0x30, 0)] }, false],
  [{ other_kinds: [0x88] }, { unknown: [Uint8Array.of(0xa4, 2, 0x30, 0)] }, true],
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

test('thousands of names under thousands of subtrees of each kind are judged without delay', async () => {
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
  // Some 100 ms; each with each it would be minutes.
  await spendsAtMost(500, () => {
    assert.deepEqual(judgeNameConstraints({ ...constraints }, names), { allowed: true });
  });
});
