import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWildcardLabel, toAsciiDnsName, toAsciiHostName } from './host-name.ts';

const hostNames: [name: string, ascii: string | undefined, why: string][] = [
  ['example.com', 'example.com', 'an ordinary name'],
  ['EXAMPLE.com', 'EXAMPLE.com', 'letter case is kept'],
  ['example.com.', 'example.com.', 'one trailing dot is kept'],
  ['example.com..', undefined, 'two trailing dots are not a name'],
  ['a..b', undefined, 'no label is empty'],
  ['.a', undefined, 'nor the first'],
  ['', undefined, 'nor the only one'],
  ['.', undefined, 'the root is no host'],
  ['a_b.test', undefined, 'no underscore'],
  ['a b.test', undefined, 'no blank'],
  ['-a.test', undefined, 'no hyphen in front'],
  ['a-.test', undefined, 'no hyphen at the end'],
  ['a-b.test', 'a-b.test', 'a hyphen inside'],
  ['*.a.test', undefined, 'no wildcard'],
  [`${'a'.repeat(63)}.test`, `${'a'.repeat(63)}.test`, '63 characters in a label'],
  [`${'a'.repeat(64)}.test`, undefined, 'not 64'],
  [`${'a.'.repeat(126)}a`, `${'a.'.repeat(126)}a`, '253 characters in a name'],
  [`${'a.'.repeat(126)}aa`, undefined, 'not 254'],
  ['bücher.de', 'xn--bcher-kva.de', 'another script becomes an A-label'],
  ['xn--bcher-kva.de', 'xn--bcher-kva.de', 'an A-label stays'],
  [`${'ü'.repeat(56)}.de`, `xn--td${'a'.repeat(56)}.de`, 'an A-label of 62 characters'],
  [`${'ü'.repeat(58)}.de`, undefined, 'none of 64'],
  [`${'ü.'.repeat(31)}aaaaa`, `${'xn--tda.'.repeat(31)}aaaaa`, '253 characters of A-labels'],
  [`${'ü.'.repeat(31)}aaaaaa`, undefined, 'not 254'],
  [`ü${'\u00ad'.repeat(900)}.de`, 'xn--tda.de', 'what vanishes does not count'],
  ['việt'.normalize('NFD'), 'xn--vit-5kz', 'marks are put onto their letters'],
  ['xn--a.de', undefined, 'an A-label that does not decode'],
  ['xn--_x-wka.de', undefined, 'an A-label that hides an underscore'],
  ['ü_x.de', undefined, 'an underscore beside other scripts'],
  ['１２７.test', undefined, 'wide digits do not turn into a number'],
  ['ｅxample.test', undefined, 'wide letters do not turn into another name'],
  ['a。b', undefined, 'an ideographic full stop does not become a dot'],
  ['ü%41.de', undefined, 'no percent sign'],
  ['a\u0000.test', undefined, 'no NUL'],
];

for (const [name, ascii, why] of hostNames) {
  test(`host name ${JSON.stringify(name.slice(0, 40))}: ${why}`, () => {
    assert.equal(toAsciiHostName(name), ascii);
  });
}

test('a dNSName may begin with a whole wildcard label, and only with that', () => {
  assert.equal(toAsciiDnsName('*.bücher.de'), '*.xn--bcher-kva.de');
  for (const name of ['*', '*.', 'a*.test', '*a.test', '*.*.test', 'a.*.test', '**.test']) {
    assert.equal(toAsciiDnsName(name), undefined, name);
  }
});

test('a wildcard label has one "*", alone or beside letters, digits and hyphens', () => {
  for (const label of ['*', 'a*', '*a', 'a*b', 'a-*-b']) assert.ok(isWildcardLabel(label), label);
  for (const label of ['', 'a', '**', 'a*b*', '-*', '*-', 'a_*', 'xn--a*', 'ü*']) {
    assert.ok(!isWildcardLabel(label), label);
  }
});
