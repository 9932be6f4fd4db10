import { MOST_COMPARISONS } from './comparisons.ts';
// Conditions are judged in short steps, so that whoever judges can let others go first between two: none of
// them holds the event loop, whatever the fields and the values that rules name, up to a body's length.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdBounds } from '../../test/support/machine.ts';
import { duration, flag, list, longText, stringMap, text } from '../core/fields.ts';
import { readerOfFields } from './parameter-reader.ts';
import { readFields, walkFields } from './parameter-rules.ts';
import type { ParameterConditions, ParameterValue } from './policy.ts';
import { Stride } from './stride.ts';

const times = <Of>(count: number, make: (at: number) => Of): Of[] =>
  Array.from({ length: count }, (_, at) => make(at));

const lists = Object.fromEntries(times(30, (at) => [`l${at}`, list([])]));
const reader = readerOfFields({
  ...lists,
  words: text(''),
  long: longText(''),
  ttl: duration(0),
  map: stringMap({}),
  flag: flag(false),
});

type Values = readonly ParameterValue[];
type Fields = Record<string, unknown>;

function ruleOf(rule: {
  denied?: Record<string, Values>;
  allowed?: Record<string, Values>;
  required?: string[];
}): ParameterConditions {
  return {
    denied_parameters: new Map(Object.entries(rule.denied ?? {})),
    allowed_parameters: new Map(Object.entries(rule.allowed ?? {})),
    required_parameters: rule.required ?? [],
  };
}

/** Characters of a body. */
const BODY = 1_000_000;
/** Some fields of as many items as are looked at, or as a body has room for. */
const inTexts = (prefix: string, count: number, item: (at: number) => string, [open, close] = ['', '']): Fields =>
  Object.fromEntries(
    times(count, (nth) => {
      const most = Math.floor(BODY / count) - 10;
      const items = times(9_999, item).join(',').slice(0, most).replace(/,[^,]*$/, '');
      return [prefix + nth, open + items + close];
    }),
  ); // biome-ignore format: one line a table's row
const inLists = (prefix: string, count: number, item: (at: number) => string): Fields =>
  Object.fromEntries(times(count, (nth) => [prefix + nth, times(9_999, (at) => nth + item(at))]));
const each = (prefix: string, count: number, values: Values): Record<string, Values> =>
  Object.fromEntries(times(count, (nth) => [prefix + nth, values]));

const NAME = 'aaaaaaaaaaaaaaaa';
const inCases = (count: number, value: (nth: number) => unknown): Fields =>
  Object.fromEntries(
    times(count, (nth) => [
      NAME.replace(/./g, (letter, at) => ((nth >> at) & 1 ? letter.toUpperCase() : letter)),
      value(nth),
    ]),
  );

const word = (at: number): string => (46_656 + at).toString(36).slice(-3);
const hex = (at: number): string => (0x1000 + at).toString(16);
const address = (at: number): string => `fe80::${at.toString(16)}`;
const ADDRESSES = ['1.2.3.4', 'aa:bb', '::1'];
const values = (count: number, make: (at: number) => string): string[] => times(count, make);

type Answer = 'yes' | 'no';
/** Rules that judge one after the other, and whether all of them let the fields pass. */
const CASES: [what: string, rules: Parameters<typeof ruleOf>[0][], fields: () => Fields, answer: Answer][] = [
  ['items in texts', [{ denied: each('f', 26, ['x']) }], () => inTexts('f', 26, word), 'yes'],
  ['items in texts, the last denied', [{ denied: each('f', 26, ['x']) }], () => ({ ...inTexts('f', 25, word), f25: `${times(9_998, word)},X` }), 'no'],
  ['items in capitals', [{ denied: each('f', 26, ['x']) }], () => inTexts('f', 26, (at) => word(at).toUpperCase()), 'yes'],
  ['items with blanks of other scripts', [{ denied: each('f', 26, ['x']) }], () => inTexts('f', 26, (at) => `\u00a0${word(at)}`), 'yes'],
  ['items with sigmas', [{ denied: each('f', 20, ['x']) }], () => inTexts('f', 20, (at) => `Σ${word(at)}`), 'yes'],
  ['a text of sigmas', [{ denied: { f: ['x'] } }], () => ({ f: 'Σ'.repeat(BODY / 2) }), 'yes'],
  ['items with a dot at their end, and ends', [{ denied: each('f', 8, ['*.x', 'y*']) }], () => inTexts('f', 8, (at) => `${word(at)}.`), 'yes'],
  ['items in texts, some of which could be addresses', [{ denied: each('f', 10, ADDRESSES) }], () => inTexts('f', 10, word), 'yes'],
  ['items in texts, all of which could be numbers', [{ denied: each('f', 26, ADDRESSES) }], () => inTexts('f', 26, (at) => hex(at).toUpperCase()), 'no'],
  ['addresses in lists', [{ denied: each('f', 10, ADDRESSES) }], () => inLists('f', 10, address), 'no'],
  ['a list of addresses', [{ denied: { l0: ADDRESSES } }], () => ({ l0: times(9_999, address) }), 'yes'],
  ['items in texts that fields of the endpoint are', [{ denied: each('l', 8, ['x', ...ADDRESSES]) }], () => inTexts('l', 8, (at) => `w${word(at)}`), 'yes'],
  ['items in texts that are allowed', [{ allowed: each('f', 4, ['x*', '*y', 'a*']) }], () => inTexts('f', 4, (at) => `a${at}`), 'yes'],
  ['items in texts that are allowed, but for the last', [{ allowed: each('f', 1, ['x*', '*y', 'a*']) }], () => ({ f0: `${times(9_998, (at) => `a${at}`)},b` }), 'no'],
  ['items of fields of the endpoint that are allowed', [{ allowed: each('l', 8, ['x', '*a*']) }], () => inTexts('l', 8, (at) => `a${at}`), 'yes'],
  ['lists as texts', [{ denied: each('f', 10, ['x']) }], () => inTexts('f', 10, (at) => `"${at}"`, ['[', ']']), 'yes'],
  ['a list as a text, the last denied', [{ denied: { f: ['x'] } }], () => ({ f: JSON.stringify([...times(9_998, word), 'X']) }), 'no'],
  ['lists in a list as a text', [{ denied: { f: ['x'] } }], () => ({ f: `[[${'[],'.repeat(330_000)}[]]]` }), 'no'],
  ['a list in a list, and so on, as a text', [{ denied: { l0: ['x'] } }], () => ({ l0: '['.repeat(BODY / 2) + ']'.repeat(BODY / 2) }), 'no'],
  ['a long map in a list as a text', [{ denied: { f: ['x'] } }], () => ({ f: `[{${times(80_000, (at) => `"k${at}":1`)}}]` }), 'no'],
  ['a list of long names as a text', [{ denied: { l0: ['x'] } }], () => ({ l0: JSON.stringify(times(9_000, (at) => `CN=${at},O=a,OU=b,L=c,ST=d`)) }), 'yes'],
  ['a text that is no list in the end', [{ denied: { f: ['x'] } }], () => ({ f: `[${'1,'.repeat(9_000)}x]` }), 'yes'],
  ['one name in thousands of letter cases', [{ denied: { [NAME]: ['x'] } }], () => inCases(9_000, (nth) => `y${nth}`), 'yes'],
  ['one name in thousands of letter cases, one denied', [{ denied: { [NAME]: ['x'] } }], () => inCases(9_000, (nth) => (nth === 8_999 ? 'X' : 'y')), 'no'],
  ['one name in thousands of letter cases, allowed', [{ allowed: { [NAME]: ['y*'] } }], () => inCases(9_000, (nth) => `y${nth}`), 'yes'],
  ['one name in thousands of letter cases, one not allowed', [{ allowed: { [NAME]: ['y*'] } }], () => inCases(9_000, (nth) => (nth === 8_999 ? 'x' : 'y')), 'no'],
  ['addresses in thousands of letter cases', [{ denied: { [NAME]: ADDRESSES } }], () => inCases(9_000, address), 'yes'],
  ['numbers in thousands of letter cases', [{ denied: { [NAME]: times(20, (at) => at) } }], () => inCases(9_000, (nth) => nth + 100), 'yes'],
  ['nothing in thousands of letter cases', [{ denied: { [NAME]: values(50, word) } }], () => inCases(3_000, () => null), 'yes'],
  ['lists in thousands of letter cases', [{ denied: { [NAME]: ['x', ['x']] } }], () => inCases(9_000, () => ['a', 'b']), 'yes'],
  ['thousands of letter cases and many rules', times(100, () => ({ denied: { [NAME]: ['x'] } })), () => inCases(9_000, (nth) => `y${nth}`), 'no'],
  ['thousands of fields and some rules', times(20, () => ({ denied: { zz: ['x'] }, allowed: { '*': [] } })), () => Object.fromEntries(times(9_990, (at) => [`a${at}`, 1])), 'yes'],
  ['thousands of fields, each with its rule', [{ denied: Object.fromEntries(times(5_000, (at) => [`a${at}`, ['x']])) }], () => Object.fromEntries(times(9_990, (at) => [`a${at}`, 'y,z'])), 'yes'],
  ['thousands of fields, all but one allowed', [{ allowed: Object.fromEntries(times(9_989, (at) => [`a${at}`, []])) }], () => Object.fromEntries(times(9_990, (at) => [`a${at}`, 1])), 'no'],
  ['thousands that are required by nine', times(9, () => ({ required: times(9_990, (at) => `a${at}`) })), () => Object.fromEntries(times(9_990, (at) => [`a${at}`, 1])), 'yes'],
  ['as many values of nine as fit into the budget', times(9, (nth) => ({ denied: { words: values(900, (at) => `v${nth} ${at}`) } })), () => ({ words: 'w' }), 'yes'],
  ['lengths of time', times(9, (nth) => ({ denied: { ttl: values(500, (at) => `${at + 1}h${nth + 1}s`) } })), () => ({ ttl: '30s' }), 'yes'],
  ['a length of time in other words', [{ denied: { ttl: values(500, (at) => `${at + 1}h`) } }], () => ({ ttl: `${500 * 60}m` }), 'no'],
  ['flags', times(9, () => ({ denied: { flag: [true, 'true', 1, 't'] } })), () => ({ flag: 'f' }), 'yes'],
  ['entries of a map', [{ denied: { map: values(900, (at) => `k${at}=w`) } }], () => ({ map: Object.fromEntries(times(990, (at) => [`k${at}`, 'v'])) }), 'yes'],
  ['a map that is allowed', [{ allowed: { map: values(900, (at) => `k${at}=w`) } }], () => ({ map: Object.fromEntries(times(990, (at) => [`k${at}`, 'v'])) }), 'no'],
  ['nested lists', [{ denied: { f: times(9, (nth) => [...times(900, () => []), nth]) } }], () => ({ f: [...times(900, () => []), 'x'] }), 'yes'],
  ['long pieces and a long text', [{ denied: { f: values(100, (at) => `*${'v'.repeat(2_000)}${at}*`) } }], () => ({ f: 'v'.repeat(BODY) }), 'no'],
  ['long pieces and a long text, allowed', [{ allowed: { f: values(100, (at) => `*${'v'.repeat(2_000)}${at}*`) } }], () => ({ f: 'v'.repeat(BODY) }), 'no'],
  ['a star in the middle', [{ denied: { f: values(900, (at) => `v*${at}`) } }], () => ({ f: times(9_999, (at) => `v${at}`) }), 'yes'],
  ['endings that are nearly there', [{ denied: { l0: values(50, (at) => `*x${'y'.repeat(at + 1)}`) } }], () => ({ l0: times(9_999, (at) => `${at}z${'y'.repeat(60)}`) }), 'yes'],
  ['blanks', [{ denied: { f: values(900, (at) => `${at}h`) } }], () => ({ f: `${' '.repeat(BODY)}x` }), 'yes'],
  ['names in other scripts', [{ denied: { l0: ['x'] } }], () => ({ l0: times(1_999, (at) => `${'ü'.repeat(100)}${at}`) }), 'yes'],
  ['long names in other scripts', [{ denied: { l0: ['x'] } }], () => ({ l0: times(1_999, (at) => `${'ü'.repeat(200)}${at}`) }), 'no'],
]; // biome-ignore format: one table

for (const [what, rules, fields, answer] of CASES) {
  test(`${what}: no step is long, and the answer is ${answer}`, async () => {
    await holdBounds({ step: 25 }, async () => {
      const sent = readFields(fields(), reader);
      const budget = { left: MOST_COMPARISONS };
      let step = 0;
      const passes = rules.every((rule) => {
        const walk = walkFields(ruleOf(rule), sent, budget);
        for (;;) {
          const before = process.threadCpuUsage();
          const { done, value } = walk.next();
          const { user, system } = process.threadCpuUsage(before);
          step = Math.max(step, (user + system) / 1000);
          if (done) return value === undefined;
        }
      });
      assert.equal(passes ? 'yes' : 'no', answer);
      return { step };
    });
  });
}

test('what a field says and what rules name of it is read once, however many rules and letter cases', () => {
  const named = values(900, (at) => `v${at}.example.com`);
  const spend = (rules: number, fields: Fields): number => {
    const sent = readFields(fields, reader);
    const budget = { left: MOST_COMPARISONS };
    const rule = ruleOf({ denied: { l0: named, [NAME]: named } });
    for (let nth = 0; nth < rules; nth++) {
      for (const _ of walkFields(rule, sent, budget));
    }
    return MOST_COMPARISONS - budget.left;
  };
  const long = (): Fields => ({ l0: times(9_999, (at) => `n${at}.example.com`) });
  assert.ok(spend(2, long()) - spend(1, long()) < spend(1, long()) / 20);
  assert.ok(
    spend(
      1,
      inCases(2, () => 'y'),
    ) <
      1.1 *
        spend(
          1,
          inCases(1, () => 'y'),
        ),
  );
});

test('a step is over once so much has been taken from the budget, and a long piece is many', () => {
  const budget = { left: 100_000 };
  const stride = new Stride(budget);
  const taken = [255, 1, 100, 156, 2_560, 0];
  const steps = taken.map((some) => {
    budget.left -= some;
    let count = 0;
    while (stride.isStepOver) count += 1;
    return count;
  });
  assert.deepEqual(steps, [0, 1, 0, 1, 10, 0]);
});
