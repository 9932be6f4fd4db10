import assert from 'node:assert/strict';
import test from 'node:test';
import type { z } from 'zod';
import { cpuOf, spendsAtMost } from '../../test/support/cpu-time.ts';
import { judgeParameters } from '../../test/support/judge-parameters.ts';
import { holdBounds } from '../../test/support/machine.ts';
import {
  duration,
  durationText,
  flag,
  integer,
  list,
  stringMap,
  text,
  timestampText,
} from '../core/fields.ts';
import type { ParameterReader } from './parameter-forms.ts';
import { readerOfFields } from './parameter-reader.ts';
import { mergeParameters } from './parameter-rules.ts';
import type { ParameterValue } from './policy.ts';

type Values = Record<string, ParameterValue[]>;

function isAllowed(
  rule: { allowed?: Values; denied?: Values; required?: string[] },
  parameters: Record<string, unknown>,
  how?: ParameterReader,
): boolean {
  const conditions = {
    allowed_parameters: new Map(Object.entries(rule.allowed ?? {})),
    denied_parameters: new Map(Object.entries(rule.denied ?? {})),
    required_parameters: rule.required ?? [],
  };
  return judgeParameters(conditions, parameters, how) === undefined;
}

const cases: [
  rule: Parameters<typeof isAllowed>[0],
  parameters: Record<string, unknown>,
  allowed: boolean,
  why: string,
][] = [
  [{}, { a: 1 }, true, 'no rule'],
  [{ allowed: {} }, { a: 1 }, true, 'an empty map allows everything'],
  [{ required: ['a'] }, { a: '' }, true, 'present is enough'],
  [{ required: ['a'] }, { A: null }, true, 'in any case'],
  [{ required: ['a'] }, {}, false, 'also where nothing is sent'],
  [{ required: ['a', 'b'] }, { a: 1 }, false, 'all of them'],
  [{ required: ['tostring'] }, {}, false, 'what objects inherit is not sent'],
  [{ denied: { policies: ['admin'] } }, { policies: ['x', 'Admin'] }, false, 'in lower case'],
  [{ denied: { token_policies: ['Ad*'] } }, { token_policies: 'x, ADMIN' }, false, 'both sides'],
  [{ denied: { policies: ['admin'] } }, { policies: ['Admins'] }, true, 'another policy'],
  [{ denied: { name: ['admin'] } }, { name: 'Admin' }, false, 'and so are all values denied'],
  [{ denied: { name: ['Ad*'] } }, { name: 'admin' }, false, 'patterns, too'],
  [{ denied: { a: ['x'] } }, { a: 'y,'.repeat(20_000) }, false, 'more than is looked at'],
  [{ allowed: { a: ['y*'] } }, { a: 'y,'.repeat(20_000) }, false, 'more than is looked at'],
  [{ denied: { '*': [] } }, {}, true, 'nothing sent, nothing denied'],
  [{ denied: { '*': [] } }, { a: 1 }, false, 'anything is denied'],
  [{ denied: { '*': ['x'] } }, { a: 1 }, false, 'values beside * do not narrow it'],
  [{ denied: { '*': [] }, allowed: { a: [] } }, { a: 1 }, false, 'denied comes before allowed'],
  [{ denied: { a: [] } }, { a: 'x' }, false, 'any value'],
  [{ denied: { a: [] } }, { A: 'x' }, false, 'in any case'],
  [{ denied: { a: [] } }, { b: 'x' }, true, 'another name'],
  [{ denied: { a: ['x'] } }, { a: 'x' }, false, 'a value'],
  [{ denied: { a: ['x'] } }, { a: 'y' }, true, 'another value'],
  [{ denied: { a: ['x'] } }, { a: ['x'] }, false, 'the value in a list'],
  [{ denied: { a: ['x'] } }, { a: ['y', 'x'] }, false, 'the value among others'],
  [{ denied: { a: ['x'] } }, { a: ['y'] }, true, 'a list without it'],
  [{ denied: { a: ['x'] } }, { a: 'y,x' }, false, 'the value after a comma'],
  [{ denied: { a: ['x'] } }, { a: 'y, x ' }, false, 'and a blank'],
  [{ denied: { a: ['x'] } }, { a: ' x' }, false, 'the value after a blank'],
  [{ denied: { a: ['x'] } }, { a: [' x'] }, false, 'that in a list'],
  [{ denied: { a: ['x'] } }, { a: '["y","x"]' }, false, 'the value in a list as text'],
  [{ denied: { a: ['x'] } }, { a: 'y,xx' }, true, 'a part of an item is not the value'],
  [{ denied: { a: [['x', 'y']] } }, { a: ['x', 'y'] }, false, 'a whole list'],
  [{ denied: { a: [['x', 'y']] } }, { a: ['y', 'x'] }, true, 'another order is another list'],
  [{ allowed: { a: [] } }, {}, true, 'nothing sent'],
  [{ allowed: { a: [] } }, { a: 1 }, true, 'listed with any value'],
  [{ allowed: { a: [] } }, { A: 1 }, true, 'in any case'],
  [{ allowed: { a: [] } }, { a: 1, b: 1 }, false, 'one not listed'],
  [{ allowed: { a: ['x'], '*': [] } }, { a: 'x', b: 1 }, true, 'the others by *'],
  [{ allowed: { a: ['x'], '*': [] } }, { a: 'y', b: 1 }, false, '* does not free a name listed'],
  [{ allowed: { '*': ['x'] } }, { a: 'y' }, true, 'values beside * restrict no named one'],
  [{ allowed: { a: ['web-*'] } }, { a: 'web-1' }, true, 'a * at the end'],
  [{ allowed: { a: ['web-*'] } }, { a: 'xweb-1' }, false, 'only at the end'],
  [{ allowed: { a: ['*.test'] } }, { a: 'a.test' }, true, 'a * at the start'],
  [{ allowed: { a: ['*.test'] } }, { a: 'a.test.org' }, false, 'only at the start'],
  [{ allowed: { a: ['*b*'] } }, { a: 'abc' }, true, 'a * at both ends'],
  [{ allowed: { a: ['*b*'] } }, { a: 'ac' }, false, 'what is between must be there'],
  [{ allowed: { a: ['*.test'] } }, { a: 'evil.org,a.test' }, false, 'not with another before it'],
  [{ allowed: { a: ['*.test'] } }, { a: 'b.test, a.test' }, true, 'each item fits'],
  [{ allowed: { a: ['web*'] } }, { a: 'web,admin' }, false, 'not with another after it'],
  [{ allowed: { a: ['web*', 'ops'] } }, { a: 'web1,ops' }, true, 'each item fits one'],
  [{ allowed: { a: ['*b*'] } }, { a: '["b","c"]' }, false, 'not in a list as text'],
  [{ allowed: { a: ['*b*'] } }, { a: '["b"]' }, true, 'that list alone'],
  [{ allowed: { a: ['x,y'] } }, { a: 'x,y' }, true, 'a text with a comma, named as it is'],
  [{ allowed: { a: ['*'] } }, { a: 'x,y' }, true, 'any text'],
  [{ allowed: { a: ['a*c'] } }, { a: 'abc' }, false, 'a * inside is itself'],
  [{ allowed: { a: ['*'] } }, { a: '' }, true, 'a * alone is any text'],
  [{ allowed: { a: ['*'] } }, { a: 1 }, false, 'but no number'],
  [{ allowed: { a: ['x'] } }, { a: 'X' }, false, 'values have case'],
  [{ allowed: { a: [1] } }, { a: 1 }, true, 'a number'],
  [{ allowed: { a: [1] } }, { a: '1' }, false, 'not its text'],
  [{ allowed: { a: [true] } }, { a: true }, true, 'a bool'],
  [{ allowed: { a: [true] } }, { a: 1 }, false, 'not a number'],
  [{ allowed: { a: [null] } }, { a: null }, true, 'null'],
  [{ allowed: { a: [null] } }, { a: '' }, false, 'not the empty text'],
  [{ allowed: { a: ['x'] } }, { a: ['x'] }, false, 'a list is compared whole'],
  [{ allowed: { a: [['x', 'y']] } }, { a: ['x', 'y'] }, true, 'the same list'],
  [{ allowed: { a: [['x', 'y']] } }, { a: ['x'] }, false, 'a shorter list'],
  [{ allowed: { a: [['x*']] } }, { a: ['xy'] }, false, 'no wildcards within lists'],
  [{ allowed: { a: ['x'] } }, { a: { x: 1 } }, false, 'an object is no text'],
];
for (const [rule, parameters, allowed, why] of cases) {
  test(`${JSON.stringify(rule)} ${allowed ? 'allows' : 'refuses'} ${JSON.stringify(parameters)}: ${why}`, () => {
    assert.equal(isAllowed(rule, parameters), allowed);
  });
}

test('a refusal names the parameter and not its value', () => {
  const because = judgeParameters(
    {
      allowed_parameters: new Map([['a', ['x']]]),
      denied_parameters: new Map(),
      required_parameters: [],
    },
    { a: 'secret' },
  );
  assert.equal(because, 'parameter "a" is not allowed with this value');
});

test('merging unites values, and any value on either side stays any value', () => {
  const merged = mergeParameters([
    new Map([
      ['a', ['1']],
      ['b', []],
      ['c', ['x']],
    ]),
    new Map([
      ['a', ['2']],
      ['b', ['y']],
      ['c', []],
      ['d', ['z']],
    ]),
  ]);
  assert.deepEqual(Object.fromEntries(merged), { a: ['1', '2'], b: [], c: [], d: ['z'] });
});

/** An endpoint with a field of each kind. */
const shape: Record<string, z.ZodType> = {
  flag: flag(false),
  number: integer(0),
  ttl: duration(0),
  expiry: durationText('72h'),
  end: timestampText(''),
  list: list([]),
  map: stringMap({}),
  text: text(''),
  old_list: list([]),
};
const reader = readerOfFields(shape, { old_list: 'list' });

const readings: typeof cases = [
  [{ denied: { flag: [true] } }, { flag: true }, false, 'as it is'],
  [{ denied: { flag: [true] } }, { flag: 'true' }, false, 'as text'],
  [{ denied: { flag: [true] } }, { flag: 'T' }, false, 'as a letter'],
  [{ denied: { flag: [true] } }, { flag: 1 }, false, 'as a number'],
  [{ denied: { flag: [true] } }, { flag: '1' }, false, 'as the text of a number'],
  [{ denied: { flag: ['true'] } }, { flag: 1 }, false, 'named as text'],
  [{ denied: { flag: [1] } }, { flag: true }, false, 'named as a number'],
  [{ denied: { flag: [true] } }, { flag: 'f' }, true, 'the other one'],
  [{ denied: { flag: [true] } }, { flag: ['true'] }, false, 'a list that is refused anyhow'],
  [{ denied: { number: [5] } }, { number: '+05' }, false, 'a number written otherwise'],
  [{ denied: { number: ['5'] } }, { number: 5 }, false, 'named as text'],
  [{ denied: { number: [5] } }, { number: '50' }, true, 'another number'],
  [{ denied: { ttl: ['1h'] } }, { ttl: 3600 }, false, 'in seconds'],
  [{ denied: { ttl: [3600] } }, { ttl: '60m' }, false, 'in minutes'],
  [{ denied: { ttl: ['1h'] } }, { ttl: '3600.5' }, false, 'with a fraction that is dropped'],
  [{ denied: { ttl: ['1h'] } }, { ttl: '61m' }, true, 'another time'],
  [{ denied: { expiry: ['72h'] } }, { expiry: '3d' }, false, 'a duration that is kept as text'],
  [{ denied: { expiry: ['72h'] } }, { expiry: '71h' }, true, 'another one'],
  [
    { denied: { end: ['2030-01-01T12:00:00Z'] } },
    { end: '2030-01-01T13:00:00+01:00' },
    false,
    'the same instant',
  ],
  [{ denied: { list: ['a'] } }, { list: 'b, A' }, false, 'in a text'],
  [{ denied: { list: [1] } }, { list: ['b', 1] }, false, 'a number among texts'],
  [{ denied: { list: ['a'] } }, { old_list: ['a'] }, false, 'by the old name of the field'],
  [{ denied: { old_list: ['a'] } }, { list: ['a'] }, false, 'by the new name, too'],
  [{ denied: { old_list: [] } }, { list: ['a'] }, false, 'any value of either name'],
  [{ denied: { map: ['team=ops'] } }, { map: { team: 'ops', b: 'c' } }, false, 'an entry of a map'],
  [{ denied: { map: ['team=ops'] } }, { map: { team: 'web' } }, true, 'another value of it'],
  [{ denied: { text: [true] } }, { text: '1' }, false, 'what a text is read as'],
  [{ denied: { text: ['aa:bb'] } }, { text: '00-AA-bb' }, false, 'a serial number'],
  [{ denied: { text: ['10.0.0.1'] } }, { text: '::FFFF:10.0.0.1' }, false, 'an address'],
  [{ denied: { list: ['2001:db8::1'] } }, { list: ['2001:DB8:0:0::1'] }, false, 'that in a list'],
  [{ denied: { text: ['a.test'] } }, { text: 'A.test.' }, false, 'a name with a dot at its end'],
  [{ allowed: { flag: [true] } }, { flag: 't' }, true, 'the value in other words'],
  [{ allowed: { flag: [false] } }, { flag: 1 }, false, 'not the other one'],
  [{ allowed: { ttl: ['1h'] } }, { ttl: 3600 }, true, 'the same time'],
  [{ allowed: { ttl: ['1h'] } }, { ttl: '2h' }, false, 'no other'],
  [{ allowed: { list: ['a', 'b'] } }, { list: ['b', 'a'] }, true, 'each item of a list'],
  [{ allowed: { list: ['a', 'b'] } }, { list: ['b', 'c'] }, false, 'and no other item'],
  [{ allowed: { list: ['a'] } }, { list: [] }, false, 'an empty list is none of them'],
  [{ allowed: { '*': [], list: ['a'] } }, { old_list: ['b'] }, false, 'nor by the old name'],
  [{ allowed: { list: ['a'] } }, { old_list: 'a' }, true, 'the value by the old name'],
  [{ allowed: { text: ['*'] } }, { text: 1 }, true, 'a * is any value of the field'],
  [{ required: ['ttl'] }, { ttl: 0 }, true, 'present'],
  [{ required: ['text'] }, { text: '' }, true, 'even with empty data'],
  [{ required: ['ttl'] }, { ttl: null }, false, 'null is nothing to the endpoint'],
  [{ required: ['ttl'] }, { TTL: 1 }, false, 'nor does it know a name in capitals'],
  [{ required: ['list'] }, { old_list: 'a' }, true, 'the old name stands for the new'],
  [{ required: ['unknown'] }, { Unknown: 1 }, true, 'what it does not know is as sent'],
];
for (const [rule, parameters, allowed, why] of readings) {
  test(`${JSON.stringify(rule)} ${allowed ? 'allows' : 'refuses'} ${JSON.stringify(parameters)} as it is read: ${why}`, () => {
    assert.equal(isAllowed(rule, parameters, reader), allowed);
  });
}

test('a long list is judged by many rules without holding others up', async () => {
  const items = Array.from({ length: 10_000 }, (_, at) => `item-${at}.example.com`);
  const values = Array.from({ length: 500 }, (_, at) => `other-${at}.example.com`);
  await spendsAtMost(400, () => {
    assert.equal(isAllowed({ denied: { list: values } }, { list: items }, reader), true);
  });
});

const LONG_LISTS: [what: string, denied: string, item: (at: number) => string][] = [
  ['names', 'x.example.com', (at) => `n${at}.example.com`],
  ['addresses', '192.0.2.1', (at) => `fe80::${at.toString(16)}`],
  ['serial numbers', '0a:0b', (at) => `7f:${(at >> 8).toString(16)}:${(at & 255).toString(16)}`],
];

for (const [what, denied, item] of LONG_LISTS) {
  test(`a list of ten thousand ${what} is compared with denied values in a short time, also at first`, async () => {
    const items = Array.from({ length: 10_000 }, (_, at) => item(at));
    const rule = { denied: { list: [denied, 'x.*', 'z'] } };
    const most = { list: 50 };
    const compare = (): number =>
      cpuOf(() => assert.equal(isAllowed(rule, { list: items }, reader), true));
    await holdBounds(most, async () => ({ list: compare() }), { attempts: 1 });
    // However far behind, and in whatever form, what is denied is found.
    assert.equal(
      isAllowed(rule, { list: [...items.slice(1), denied.toUpperCase()] }, reader),
      false,
    );
  });
}

const PATTERNS: [what: string, pattern: (at: number) => string][] = [
  ['ends', (at) => `*.x${at}.example.org`],
  ['ends of many lengths', (at) => `*.${'x'.repeat(at % 200)}${at}.example.org`],
  ['beginnings', (at) => `x${at}.*`],
  ['pieces', (at) => `*.x${at}.example*`],
];
for (const [what, pattern] of PATTERNS) {
  test(`ten thousand names are held against a thousand ${what} in a short time, or refused`, async () => {
    const items = Array.from({ length: 10_000 }, (_, at) => `n${at}.example.com`);
    const values = Array.from({ length: 1000 }, (_, at) => pattern(at));
    const denied = { denied: { list: values } };
    const allowed = { allowed: { list: [...values, 'n*'] } };
    // Once before, so that compiling is not counted.
    for (const rule of [denied, allowed]) isAllowed(rule, { list: items.slice(1) }, reader);
    await spendsAtMost(150, () => {
      isAllowed(denied, { list: items }, reader);
      isAllowed(allowed, { list: items }, reader);
    });
    // A hit is found among as many patterns, however it comes about.
    const hit = pattern(999).replace(/^\*|\*$/g, 'y');
    assert.equal(isAllowed(denied, { list: [hit] }, reader), false, hit);
    assert.equal(isAllowed({ allowed: { list: values } }, { list: [hit] }, reader), true, hit);
    assert.equal(isAllowed(denied, { list: ['n1.example.com'] }, reader), true);
  });
}

test('of however many values a text that is named word for word passes, another does not', () => {
  const values = Array.from({ length: 9000 }, (_, at) => `n${at}.example.com`);
  assert.equal(isAllowed({ allowed: { list: values } }, { list: values }, reader), true);
  assert.equal(isAllowed({ allowed: { text: values } }, { text: values.at(-1) }, reader), true);
  assert.equal(isAllowed({ allowed: { list: values } }, { list: [] }, reader), false);
  assert.equal(isAllowed({ allowed: { list: values } }, { list: [...values, 'x'] }, reader), false);
});

test('what takes too many comparisons is neither allowed nor free of what is denied', () => {
  const values = Array.from({ length: 1000 }, (_, at) => `*.x${at}.example*`);
  const items = Array.from({ length: 10_000 }, (_, at) => `n${at}.example.com`);
  assert.equal(isAllowed({ denied: { list: values } }, { list: items }, reader), false);
  const last = { allowed: { list: [...values, '*n*'] } };
  assert.equal(isAllowed(last, { list: items }, reader), false);
  // What a beginning lets pass need not be searched for pieces.
  const beginning = { allowed: { list: [...values, 'n*'] } };
  assert.equal(isAllowed(beginning, { list: items }, reader), true);
  assert.equal(isAllowed(beginning, { list: [...items, 'x'] }, reader), false);
  assert.equal(isAllowed(last, { list: items.slice(0, 100) }, reader), true);
  const few = items.slice(0, 250);
  assert.equal(isAllowed({ denied: { list: values } }, { list: few }, reader), true);
});

test('a pattern for what is no text is held against what is read of it', () => {
  assert.equal(isAllowed({ allowed: { flag: ['tr*'] } }, { flag: 't' }, reader), true);
  assert.equal(isAllowed({ allowed: { flag: ['tr*'] } }, { flag: 'f' }, reader), false);
  assert.equal(isAllowed({ allowed: { ttl: ['1*'] } }, { ttl: '1h' }, reader), false, '3600');
});
