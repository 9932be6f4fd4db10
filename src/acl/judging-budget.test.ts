// All judging of one request has one budget: whatever the policies, the tables and the fields are, it
// takes some hundredths of a second, and what is beyond it is refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cpuUntil } from '../../test/support/cpu-time.ts';
import { compiledAcl } from '../../test/support/judged.ts';
import { holdBounds } from '../../test/support/machine.ts';
import { duration, list, stringMap, text } from '../core/fields.ts';
import type { AccessRequest } from './access-request.ts';
import { type Acl, boundAcl, judgeAccess, judgeBrought } from './acl.ts';
import { MOST_COMPARISONS } from './comparisons.ts';
import { OwnJudge } from './own-judge.ts';
import { readerOfFields } from './parameter-reader.ts';
import { parsePolicy } from './policy-reader.ts';
import { ALLOWED, TOO_MUCH } from './verdict.ts';

const reader = readerOfFields({
  names: list(),
  words: text(''),
  ttl: duration(0),
  map: stringMap({}),
});

/** As many tables of these conditions as a token has that was made so far down a line of others. */
function compile(conditions: readonly string[], tables: number): Acl {
  const policies = conditions.map((each) =>
    parsePolicy(`path "a" { capabilities = ["update"] ${each} }`),
  );
  return Array.from({ length: tables }, () => compiledAcl(policies, 0)).reduce(boundAcl);
}

type Fields = Record<string, unknown>;

const request = (parameters: Fields): AccessRequest => ({
  path: 'a',
  operation: 'update',
  sudoRequired: false,
  parameters,
  reader,
  budget: { left: MOST_COMPARISONS },
});

const times = <Of>(count: number, make: (at: number) => Of): Of[] =>
  Array.from({ length: count }, (_, at) => make(at));
const quoted = (values: readonly unknown[]): string =>
  values.map((value) => JSON.stringify(value)).join();

const NAME = 'aaaaaaaaaaaaaaaa';
/** One name in so many letter cases. */
const inCases = (count: number, value: unknown): Fields =>
  Object.fromEntries(
    times(count, (nth) => [
      NAME.replace(/./g, (letter, at) => (((nth + 1) >> at) & 1 ? letter.toUpperCase() : letter)),
      value,
    ]),
  );

const nested = (last: string): unknown[] => [...times(7, () => [[[[[]]]]]), last];
const long = times(9_999, (at) => 'x'.repeat(60) + at);
const people = times(10_000, (at) => `n${at}.example.com`);
const ends = quoted(times(50, (at) => `*${'y'.repeat(at + 1)}`));
const pieces = quoted(times(30, (at) => `*.x${at}.example*`));

const denied = (name: string, values: string): string =>
  `denied_parameters = { "${name}" = [${values}] }`;

/** Conditions, fields, and whether they can be judged by one table of them, and by nine. */
const CASES: [what: string, conditions: string[], fields: () => Fields, one: boolean, nine: boolean][] = [
  ['lists in lists that are allowed, in thousands of letter cases', times(10, (nth) => `allowed_parameters = { "${NAME}" = [${quoted(times(23, (at) => nested(`${nth} ${at}`)))}] "*" = [] }`), () => inCases(2250, nested('9 22')), false, false],
  ['lists in lists that are denied, in hundreds of letter cases', times(5, (nth) => denied(NAME, quoted(times(5, (at) => nested(`${nth} ${at}`))))), () => inCases(400, nested('!')), true, false],
  ['texts in thousands of letter cases', times(10, (nth) => `allowed_parameters = { "${NAME}" = [${quoted(times(900, (at) => `${nth} ${at}`))}] "*" = [] }`), () => inCases(5000, '9 899'), true, true],
  ['one name in a few letter cases', [`allowed_parameters = { "${NAME}" = [${quoted([nested('a'), nested('b')])}] }`], () => inCases(20, nested('b')), true, true],
  ['ten thousand names, and ends of fifty lengths', [denied('yy', ends)], () => ({ yy: long }), true, false],
  ['ten thousand names of the endpoint, and ends of fifty lengths', [denied('names', ends)], () => ({ names: people }), true, false],
  ['ten thousand names, and thirty pieces', [denied('names', pieces)], () => ({ names: people }), true, false],
  ['ten thousand names, and some ends', [denied('names', '"*.test", "*.example.org", "x*"')], () => ({ names: people }), true, true],
  ['long pieces', [denied('yy', quoted(times(100, (at) => `*${'x'.repeat(2000)}${at}z*`)))], () => ({ yy: times(200, (at) => 'x'.repeat(4000) + at) }), false, false],
  ['times, and a text of blanks', [denied('words', quoted(times(900, (at) => `${at}h`)))], () => ({ words: `${' '.repeat(900_000)}x` }), true, true],
  ['ten thousand that are required', times(10, (nth) => `required_parameters = [${quoted(times(999, (at) => `p${nth}x${at}`))}]`), () => Object.fromEntries(times(9990, (at) => [`p${Math.floor(at / 999)}x${at % 999}`, 1])), true, true],
  ['entries of a long map', [denied('map', quoted(times(900, (at) => `k${at}=w`)))], () => ({ map: Object.fromEntries(times(9900, (at) => [`k${at}`, 'v'])) }), true, true],
  ['names in other scripts that are denied', [denied('names', quoted(times(900, (at) => `${'ü'.repeat(200)}${at}`)))], () => ({ names: people }), false, false],
  ['addresses', [denied('names', quoted(times(900, (at) => `10.0.${at >> 8}.${at & 255}`)))], () => ({ names: times(9999, (at) => `fe80::${at.toString(16)}`) }), true, true],
]; // biome-ignore format: one table

for (const [what, conditions, fields, one, nine] of CASES) {
  for (const [tables, isJudged] of [
    [1, one],
    [9, nine],
  ] as const) {
    // biome-ignore format: pairs
    test(`${what}: ${tables} of them judge a request in a short time${isJudged ? '' : ', or refuse it'}`, async () => {
      const acl = compile(conditions, tables);
      // Some 5 to 35 ms; without the bounds up to 9 s.
      await holdBounds({ judging: 120 }, async () => {
        // In a new object each time: what was read of another is kept.
        const asked = request(fields());
        let verdict = ALLOWED;
        const judging = await cpuUntil(async () => {
          verdict = await judgeAccess(acl, asked);
        });
        assert.deepEqual(verdict, isJudged ? ALLOWED : TOO_MUCH);
        return { judging };
      });
    });
  }
}

test('tables, what is brought in another form, and own paths take from one budget', async () => {
  const acl = compile([denied('names', ends)], 1);
  const asked = request({ names: people.slice(0, 3000) });
  const left = (): number => asked.budget?.left ?? 0;
  const before = [left()];
  assert.equal(await judgeAccess(acl, asked), ALLOWED);
  before.push(left());
  assert.equal(await judgeBrought(acl, asked), ALLOWED);
  before.push(left());
  const judge = new OwnJudge(asked);
  assert.equal(await judge.judge(acl, [{ path: 'a', alike: ['names'] }]), ALLOWED);
  before.push(left());
  const taken = before.slice(1).map((each, at) => (before[at] ?? 0) - each);
  assert.ok(
    taken.every((each) => each > 100_000),
    `${taken}`,
  );
  // Other permissions are judged by what is left.
  while (left() > 0)
    await judge.judge(compile([denied('names', ends)], 1), [{ path: 'a', alike: ['names'] }]);
  assert.equal(await judge.judge(acl, [{ path: 'a', alike: ['names'] }]), TOO_MUCH);
  assert.equal(await judgeAccess(acl, asked), TOO_MUCH);
  assert.equal(await judgeBrought(acl, asked), TOO_MUCH);
});

test('what was sent is read once, wherever it is judged', async () => {
  let readings = 0;
  const counting: typeof reader = {
    ...reader,
    walk(name, value, ...paid) {
      if (value === people) readings += 1;
      return reader.walk(name, value, ...paid);
    },
  };
  const asked = { ...request({ names: people }), reader: counting };
  const acl = compile([denied('names', '"x"')], 9);
  assert.equal(await judgeAccess(acl, asked), ALLOWED);
  assert.equal(await judgeBrought(acl, asked), ALLOWED);
  assert.equal(readings, 1);
});
