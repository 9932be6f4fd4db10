import assert from 'node:assert/strict';
import { test } from 'node:test';
import { domainToASCII } from 'node:url';
import { domainInAscii, domainInUnicode, isConvertible, parseUrl } from './domain-names.ts';

const times = (count: number, make: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => make(at)).join('');
const kanji = (count: number): string => times(count, (at) => String.fromCharCode(0x5000 - at));
/** A combining mark of each of some classes, falling: to put them into order takes a step for each pair. */
const FALLING =
  '\u035d\u035c\u0315\u0300\u059a\u0316\u031b\u0321\u0670\u0652\u0651\u05c1\u05bc\u0334';
const marks = (count: number): string => times(count, (at) => FALLING[at % FALLING.length] ?? '');
const joined = (text: string, sign: string): string => [...text].join(sign);

const LENGTHS: [text: string, fits: boolean, what: string][] = [
  ['', true, 'nothing'],
  ['a'.repeat(9_000), true, 'plain ASCII is not converted'],
  [`${'ü'.repeat(63)}.test`, true, '63 letters'],
  [`${'ü'.repeat(64)}.test`, false, '64 letters'],
  [`${'ü'.repeat(60)}aaaa.test`, false, '64 letters, some of them ASCII'],
  [`${kanji(63)}.${kanji(63)}`, true, '63 letters that differ, twice'],
  [`${kanji(63)}。${kanji(63)}．${kanji(63)}｡${kanji(63)}`, true, 'with dots of other widths'],
  [`${kanji(64)}。${kanji(63)}`, false, 'one more'],
  ['\u{20000}'.repeat(63), true, '63 letters of two units each'],
  ['\u{20000}'.repeat(64), false, 'one more'],
  ['한'.normalize('NFD').repeat(63), true, '63 syllables of three parts each'],
  ['한'.normalize('NFD').repeat(64), false, 'one more'],
  ['ệ'.normalize('NFD').repeat(63), true, '63 letters of two marks each'],
  ['ệ'.normalize('NFD').repeat(64), false, 'one more'],
  ['ＡＢＣＤＥＦＧＨ'.repeat(8), false, '64 wide letters'],
  ['ｶﾞ'.repeat(63), true, '63 letters of half width with a mark'],
  ['ｶﾞ'.repeat(64), false, 'one more'],
  ['\u{fdfa}'.repeat(10), true, 'letters that stand for many, in a short text'],
  ['\u{fdfa}'.repeat(64), false, 'in a longer one'],
  [`a${marks(30)}.${'b'.repeat(40)}`, true, '30 marks on a letter'],
  [`a${marks(31)}.${'b'.repeat(40)}`, false, 'one more'],
  [`a${joined(marks(30), '\u00ad')}.${'b'.repeat(40)}`, true, '30 with what vanishes between them'],
  [`a${joined(marks(31), '\u00ad')}.${'b'.repeat(40)}`, false, 'one more'],
  [`a${'\uff9e'.repeat(31)}.${'b'.repeat(40)}`, false, '31 of half width'],
  [`ü${'\u00ad'.repeat(1_023)}`, true, 'characters that vanish'],
  [`ü${'\u00ad'.repeat(1_024)}`, false, 'more than are looked at'],
  [`xn--${'a'.repeat(59)}.test`, true, 'an A-label of 63'],
  [`xn--${'a'.repeat(60)}.test`, false, 'of 64'],
  [`XN--${'a'.repeat(60)}.test`, false, 'in capitals'],
  [`xm--${'a'.repeat(60)}.test`, true, 'no A-label'],
]; // biome-ignore format: one table

test('a text is converted where it is short enough to be a domain name, however it is written', () => {
  for (const [text, fits, what] of LENGTHS) assert.equal(isConvertible(text), fits, what);
});

test('what is too long comes to no name, in either direction and in a URL', () => {
  for (const [text, fits, what] of LENGTHS) {
    if (fits) continue;
    assert.equal(domainInAscii(text), '', what);
    assert.equal(domainInUnicode(text), '', what);
    assert.equal(parseUrl(`http://${text}/`), undefined, what);
    assert.equal(parseUrl(`http://${encodeURIComponent(text)}/`), undefined, what);
  }
});

test('names are converted as ever', () => {
  assert.equal(domainInAscii('Bücher.例え.test'), 'xn--bcher-kva.xn--r8jz45g.test');
  assert.equal(domainInUnicode('xn--bcher-kva.xn--r8jz45g.test'), 'bücher.例え.test');
  assert.equal(domainInAscii(`${'ü'.repeat(56)}.test`), domainToASCII(`${'ü'.repeat(56)}.test`));
  assert.equal(domainInAscii('ü|.test'), '');
});

test('every character that vanishes in the conversion is left out of a count', () => {
  const joiners = /[\u200c\u200d]/;
  const ignorable = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{M}]/u;
  for (let code = 0x80; code < 0xe1000; code++) {
    const character = String.fromCodePoint(code);
    if (!ignorable.test(character) || domainToASCII(`ü${character}`) !== 'xn--tda') continue;
    const isLeftOut = isConvertible(`${'ü'.repeat(63)}${character}`);
    assert.ok(isLeftOut || joiners.test(character), code.toString(16));
  }
});

const URLS: [text: string, host: string | undefined, what: string][] = [
  ['https://bücher.test:8200/v1', 'xn--bcher-kva.test', 'another script'],
  ['https://b%C3%BCcher.test', 'xn--bcher-kva.test', 'escaped'],
  [`https://${'a'.repeat(70)}.test`, `${'a'.repeat(70)}.test`, 'plain ASCII of any length'],
  [`https://${kanji(63)}:8200`, domainToASCII(kanji(63)), '63 letters'],
  [`https://${kanji(64)}:8200`, undefined, '64 letters'],
  [`https://x:y@${kanji(64)}`, undefined, 'behind a user'],
  [`https://${kanji(64)}@a.test`, 'a.test', 'a long user'],
  [`https:${kanji(64)}`, undefined, 'without slashes'],
  [`https:\\\\${kanji(64)}\\`, undefined, 'with others'],
  [`\u0001ht\ttps://${kanji(64)}`, undefined, 'with controls'],
  [`https://a[b:${kanji(64)}`, undefined, 'behind a bracket'],
  [`https://a.test/${kanji(64)}?${kanji(64)}`, 'a.test', 'a long path'],
  [`https://a.test?${kanji(64)}`, 'a.test', 'a long query'],
  [`file:///${kanji(64)}`, '', 'a long path of a file'],
  [`file://${kanji(64)}/a`, undefined, 'a long host of a file'],
  [`urn:${kanji(64)}`, '', 'a URN has no host'],
  [`x://${kanji(2)}/`, encodeURIComponent(kanji(2)), 'of another scheme the host is as it is'],
  ['https://[2001:db8::1]:8200', '[2001:db8::1]', 'an address'],
  ['a.test', undefined, 'no URL'],
];

test('a URL is parsed where its host is short enough to be converted', () => {
  for (const [text, host, what] of URLS) assert.equal(parseUrl(text)?.hostname, host, what);
});
