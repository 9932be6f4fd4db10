import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import type { Field } from './field.ts';
import {
  choice,
  duration,
  durationText,
  fieldErrors,
  flag,
  instant,
  integer,
  list,
  longText,
  modestList,
  optional,
  shortList,
  stringMap,
  text,
  timestampText,
} from './fields.ts';
import { mergePatch, patchOf } from './patches.ts';

const REFUSED = Symbol('refused');

const cases: [kind: string, field: Field<unknown>, sent: unknown, read: unknown][] = [
  ['text', text(), 'a', 'a'],
  ['text', text(), 5, '5'],
  ['text', text(), true, '1'],
  ['text', text(), ['a'], REFUSED],
  ['text', text(), {}, REFUSED],
  ['integer', integer(), 7, 7],
  ['integer', integer(), '-1', -1],
  ['integer', integer(), 1.5, REFUSED],
  ['integer', integer(), '0x10', REFUSED],
  ['integer', integer(), '1e3', REFUSED],
  ['integer', integer(), 'x', REFUSED],
  ['flag', flag(), true, true],
  ['flag', flag(), 'TRUE', true],
  ['flag', flag(), 't', true],
  ['flag', flag(), 0, false],
  ['flag', flag(), '0', false],
  ['flag', flag(), 'yes', REFUSED],
  ['flag', flag(), 2, REFUSED],
  ['flag', flag(), '', REFUSED],
  ['integer', integer(), '', REFUSED],
  ['duration', duration(), 3600, 3600],
  ['duration', duration(), '3600', 3600],
  ['duration', duration(), '72h', 259_200],
  ['duration', duration(), '1.5h', 5400],
  ['duration', duration(), '1h30m', 5400],
  ['duration', duration(), '1500ms', 1],
  ['duration', duration(), '7d', 604_800],
  ['duration', duration(), '0s', 0],
  ['duration', duration(), '0.5', REFUSED],
  ['duration', duration(), 0.5, REFUSED],
  ['duration', duration(), '999ms', REFUSED],
  ['duration', duration(), '', 0],
  ['duration', duration(), '1w', REFUSED],
  ['duration', duration(), '1y', REFUSED],
  ['duration', duration(), 'h', REFUSED],
  ['duration', duration(), '1h 30m', REFUSED],
  ['duration', duration(), -1, REFUSED],
  ['duration', duration(), '-1h', REFUSED],
  ['duration', duration(), '1e30', REFUSED],
  ['duration', duration(), '99999999999999h', REFUSED],
  ['durationText', durationText(), '72h', '72h'],
  ['durationText', durationText(), 3600, '3600'],
  ['list', list(), 'a, b,c', ['a', 'b', 'c']],
  ['list', list(), ['a', 'b'], ['a', 'b']],
  ['list', list(), ['Foo, Inc.'], ['Foo, Inc.']],
  ['list', list(), '["a,b","c"]', ['a,b', 'c']],
  ['list', list(), '["a",["b"]]', REFUSED],
  ['list', list(), '[{"a":1}]', REFUSED],
  ['list', list(), '[a]', ['[a]']],
  ['list', list(), '', []],
  ['list', list(), [], []],
  ['list', list(), 5, ['5']],
  ['list', list(), ['a', 5], ['a', '5']],
  ['list', list(), 'a,a', ['a', 'a']],
  ['list', list(), [['a']], REFUSED],
  ['list', list(), { a: 1 }, REFUSED],
  ['list', list(), [null], REFUSED],
  ['timestampText', timestampText(), '9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z'],
  ['timestampText', timestampText(), '', ''],
  ['timestampText', timestampText(), '2030-01-01', REFUSED],
  ['timestampText', timestampText(), '2030-02-31T00:00:00Z', REFUSED],
  ['instant', instant(), 1_600_000_000, 1_600_000_000],
  ['instant', instant(), '2020-09-13T12:26:40Z', 1_600_000_000],
  ['instant', instant(), 'yesterday', REFUSED],
  ['stringMap', stringMap(), { a: 'b', c: 1 }, { a: 'b', c: '1' }],
  ['stringMap', stringMap(), 'a=b,c=d', { a: 'b', c: 'd' }],
  ['stringMap', stringMap(), '{"a":"b","c":"d"}', { a: 'b', c: 'd' }],
  ['stringMap', stringMap(), '{"a":"b","a":"d"}', REFUSED],
  ['stringMap', stringMap(), '{"a":{"b":"c"}}', REFUSED],
  ['stringMap', stringMap(), { a: [] }, REFUSED],
  ['stringMap', stringMap(), 'a', REFUSED],
  ['choice', choice(['err', 'permit']), 'err', 'err'],
  ['choice', choice(['err', 'permit']), 'ERR', REFUSED],
];

for (const [kind, field, sent, read] of cases) {
  const verdict = read === REFUSED ? 'is refused' : `reads as ${JSON.stringify(read)}`;
  test(`${kind}: ${JSON.stringify(sent)} ${verdict}`, () => {
    const result = field.safeParse(sent);
    assert.deepEqual(result.success ? result.data : REFUSED, read);
  });
}

test('missing and null both fall to the default, and null is refused where there is none', () => {
  const schema = z.object({ d: duration(30), l: list(['a']) });
  assert.deepEqual(schema.parse({}), { d: 30, l: ['a'] });
  assert.deepEqual(schema.parse({ d: null, l: null }), { d: 30, l: ['a'] });
  assert.equal(z.object({ d: duration() }).safeParse({ d: null }).success, false);
});

test('a default list is a new one each time', () => {
  const field = list(['a']);
  field.parse(undefined).push('b');
  assert.deepEqual(field.parse(undefined), ['a']);
});

test('an optional field answers nothing for null, and still refuses what is not of its kind', () => {
  const schema = z.object({ l: optional(list()) });
  assert.equal(schema.parse({ l: null }).l, undefined);
  assert.deepEqual(schema.parse({}), {});
  assert.equal(schema.safeParse({ l: {} }).success, false);
});

test('a patch keeps no defaults: what is left out or null stays as it was', () => {
  const patch = patchOf({
    ttl: duration(30).describe('Validity.'),
    on: flag(true),
    names: list([]),
  });
  const before = { ttl: 5, on: false, names: ['a'] };
  assert.deepEqual(mergePatch(before, patch.parse({})), before);
  assert.deepEqual(mergePatch(before, patch.parse({ ttl: null, on: null })), before);
  assert.deepEqual(mergePatch(before, patch.parse({ names: [], ttl: 0 })), {
    ttl: 0,
    on: false,
    names: [],
  });
  assert.equal(patch.safeParse({ ttl: -1 }).success, false);
});

test('a refusal names each field and what it takes', () => {
  const schema = z.object({ ttl: duration(0), on: flag(false), name: text() });
  const result = schema.safeParse({ ttl: '-5s', on: 'maybe' });
  assert.ok(result.error);
  assert.deepEqual(fieldErrors(result.error), {
    ttl: 'cannot provide negative value',
    on: 'true or false',
    name: 'a value is required, a string',
  });
});

test('both sides of every conversion can be documented, with defaults and descriptions', () => {
  const schema = z.object({ ttl: duration(30).describe('Validity.'), names: optional(list()) });
  const input = z.toJSONSchema(schema, { io: 'input' });
  assert.deepEqual(input.properties?.ttl, {
    default: 30,
    description: 'Validity.',
    type: 'integer',
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
  });
  assert.deepEqual(z.toJSONSchema(schema, { io: 'output' }).required, ['ttl']);
  const patch = z.toJSONSchema(patchOf({ ttl: duration(30).describe('Validity.') }), {
    io: 'input',
  });
  assert.equal(JSON.stringify(patch).includes('default'), false);
  assert.equal(JSON.stringify(patch).includes('Validity.'), true);
});

test('a list is refused by its length, before anything is done with its items', () => {
  const field = list();
  assert.equal(field.safeParse(`${'a,'.repeat(9_999)}a`).success, true);
  assert.equal(field.safeParse('a'.repeat(8192)).success, true);
  for (const sent of [
    'a,'.repeat(1_000_000),
    Array.from({ length: 10_001 }, () => 'a'),
    'a'.repeat(8193),
    ['a'.repeat(8193)],
    `["${'a'.repeat(8193)}"]`,
  ]) {
    const { error } = field.safeParse(sent);
    assert.match(String(error?.issues[0]?.message), /at most 10000 strings of at most 8192/);
  }
});

// What is refused by its length alone, right beside what is just short enough.
const lengths: [kind: string, field: z.ZodType, longest: unknown, longer: unknown, said: RegExp][] =
  [
    ['text', text(), 'a'.repeat(8192), 'a'.repeat(8193), /at most 8192 characters/],
    ['durationText', durationText(), '1'.repeat(64), '1'.repeat(65), /a duration as text/],
    [
      'shortList',
      shortList(),
      Array(1000).fill('a'),
      Array(1001).fill('a'),
      /at most 1000 strings/,
    ],
    ['shortList', shortList(), ['a'.repeat(1024)], ['a'.repeat(1025)], /at most 1024 characters/],
    ['shortList', shortList(), `${'a,'.repeat(999)}a`, 'a,'.repeat(1000), /at most 1000 strings/],
    ['modestList', modestList(), letters(64), letters(65), /65536 in all/],
    ['modestList', modestList(), letters(64).join(','), letters(65).join(','), /65536 in all/],
    [
      'modestList',
      modestList(),
      JSON.stringify(letters(64)),
      JSON.stringify(letters(65)),
      /in all/,
    ],
    ['modestList', modestList(), Array(1000).fill('a'), Array(1001).fill('a'), /at most 1000/],
    ['stringMap', stringMap(), mapOf(1000), mapOf(1001), /at most 1000 names/],
    ['stringMap', stringMap(), { k: 'v'.repeat(65_535) }, { k: 'v'.repeat(65_536) }, /65536/],
  ];

function letters(count: number): string[] {
  return Array.from({ length: count }, () => 'a'.repeat(1024));
}

function mapOf(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'v']));
}

for (const [kind, field, longest, longer, said] of lengths) {
  test(`${kind} is refused by its length: ${said}`, () => {
    assert.equal(field.safeParse(longest).success, true);
    assert.match(String(field.safeParse(longer).error?.issues[0]?.message), said);
  });
}

test('brackets in the text of a list are not read beyond what a list can be', () => {
  const refuses = (sent: string) => assert.equal(list().safeParse(sent).success, false);
  refuses('['.repeat(500_000) + ']'.repeat(500_000));
  refuses(`["${'a'.repeat(8193)}",${'['.repeat(40)}${']'.repeat(40)}]`);
  assert.deepEqual(list().parse(`["${'['.repeat(40)}","\\"["]`), ['['.repeat(40), '"[']);
});

test('long text has no length of its own', () => {
  assert.equal(longText().safeParse('a'.repeat(1_000_000)).success, true);
  assert.equal(longText().safeParse({}).success, false);
});
