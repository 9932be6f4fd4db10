import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../../../test/support/cpu-time.ts';
import { evaluateFilter } from './evaluate.ts';
import { parseExpression } from './expression.ts';

const item = {
  name: 'web',
  description: '',
  version: 3,
  enabled: true,
  nothing: null,
  tags: ['a', 'b'],
  none: [],
  attributes: { default_port: 22, default_client_port: 0 },
  empty: {},
  ports: [22, 80],
};

function judge(filter: string): ReturnType<typeof evaluateFilter> {
  const parsed = parseExpression(filter);
  assert.ok(parsed.valid, filter);
  return evaluateFilter(parsed.expression, { item });
}

const MISSING = 'missing';
const MISMATCH = 'mismatch';

// Every operator on every kind of value.
const rows: [filter: string, expected: boolean | 'missing' | 'mismatch', why: string][] = [
  ['item.name == "web"', true, 'text'],
  ['item.name == "Web"', false, 'in its case'],
  ['item.name != "web"', false, 'text'],
  ['item.name != "other"', true, 'text'],
  ['item.name contains "e"', true, 'a part of a text'],
  ['item.name contains "x"', false, 'no part of it'],
  ['item.name not contains "x"', true, 'no part of it'],
  ['item.name matches "^w.b$"', true, 'a pattern'],
  ['item.name matches "W"', false, 'in its case'],
  ['item.name matches "(?i)W"', true, 'or not'],
  ['item.name matches "e"', true, 'a pattern is found anywhere'],
  ['item.name not matches "^w"', false, 'a pattern'],
  ['item.description is empty', true, 'an empty text'],
  ['item.name is empty', false, 'a text'],
  ['item.name is not empty', true, 'a text'],
  ['item.name is nil', false, 'a text'],
  ['item.nothing is nil', true, 'null'],
  ['item.nothing is not nil', false, 'null'],
  ['item.name is not nil', true, 'a text'],
  ['item.nothing == "x"', MISMATCH, 'null equals nothing'],
  ['item.nothing is empty', MISMATCH, 'null is not empty either'],

  ['item.version == 3', true, 'a number'],
  ['item.version == "3"', true, 'quoted or not'],
  ['item.version == 3.0', true, 'however written'],
  ['item.version == 4', false, 'a number'],
  ['item.version != 4', true, 'a number'],
  ['item.version == x', MISMATCH, 'no number'],
  ['item.version == ""', MISMATCH, 'the empty text is none'],
  ['item.version contains 3', MISMATCH, 'a number contains nothing'],
  ['item.version matches "3"', MISMATCH, 'nor does it match'],
  ['item.version is empty', MISMATCH, 'nor is it empty'],
  ['"/item/attributes/default_port" == 22', true, 'a number of the attributes'],
  ['item.attributes["default_port"] == 22', true, 'by index'],
  ['item.attributes.default_client_port == 0', true, 'zero'],

  ['item.enabled == true', true, 'true'],
  ['item.enabled == false', false, 'false'],
  ['item.enabled == 1', true, 'in short'],
  ['item.enabled == yes', MISMATCH, 'neither'],
  ['item.enabled is empty', MISMATCH, 'a yes or no is never empty'],

  ['item.tags contains "a"', true, 'an element'],
  ['item.tags contains "c"', false, 'no element'],
  ['"a" in "/item/tags"', true, 'reversed'],
  ['"c" in "/item/tags"', false, 'reversed'],
  ['"c" not in "/item/tags"', true, 'reversed and negated'],
  ['80 in item.ports', true, 'a number among numbers'],
  ['x in item.ports', MISMATCH, 'no number among numbers'],
  ['item.tags is empty', false, 'a list'],
  ['item.none is empty', true, 'an empty list'],
  ['x in item.none', false, 'nothing is in it'],
  ['item.tags == "a"', MISMATCH, 'a list equals no text'],
  ['item.tags matches "a"', MISMATCH, 'nor does it match'],
  ['"/item/tags/1" == "b"', true, 'an element by its place'],
  ['"/item/tags/2" == "b"', MISSING, 'beyond the end'],
  ['"/item/tags/-1" == "b"', MISSING, 'before the beginning'],

  ['item.attributes contains default_port', true, 'a key of an object'],
  ['item.attributes contains "22"', false, 'not its values'],
  ['item.empty is empty', true, 'an empty object'],
  ['item.attributes is empty', false, 'an object'],
  ['item.attributes == "x"', MISMATCH, 'an object equals no text'],
  ['constructor in item.empty', false, 'what every object has is no key'],

  ['item.gone == "x"', MISSING, 'what is not there'],
  ['item.gone != "x"', MISSING, 'nor is it unlike'],
  ['item.gone is nil', MISSING, 'nor null'],
  ['item.gone is empty', MISSING, 'nor empty'],
  ['not item.gone == "x"', MISSING, 'a "not" makes no match of it'],
  ['item.nothing.deep == "x"', MISSING, 'within null'],
  ['item.name.length == 3', MISSING, 'within a text'],
  ['item.tags.length == 2', MISSING, 'what every list has'],
  ['"/item/__proto__" is not nil', MISSING, 'what every object has'],
  ['item.attributes.toString is not nil', MISSING, 'what every object has'],
  ['name == "web"', MISSING, 'the item stands under "item"'],

  ['item.name == "web" or item.gone == "x"', true, 'the rest is not looked at'],
  ['item.gone == "x" or item.name == "web"', MISSING, 'but what comes first is'],
  ['item.name == "x" and item.gone == "x"', false, 'the rest is not looked at'],
  ['not item.name == "x" and item.version == 3', true, 'together'],

  ['any item.tags as tag { tag == "b" }', true, 'some'],
  ['all item.tags as tag { tag == "b" }', false, 'not all'],
  ['any item.none as tag { tag == "b" }', false, 'none of nothing'],
  ['all item.none as tag { tag == "b" }', true, 'all of nothing'],
  ['any item.tags as at, tag { at == 1 and tag == "b" }', true, 'with its place'],
  ['any item.attributes as key { key == "default_port" }', true, 'keys of an object'],
  ['all item.attributes as key, value { value != 80 }', true, 'and their values'],
  ['any item.tags as tag { item.name == "web" and tag == "a" }', true, 'the item is still there'],
  ['any item.name as tag { tag == "b" }', MISMATCH, 'a text has no elements'],
  ['tag == "b"', MISSING, 'a name holds in its braces only'],
];

for (const [filter, expected, why] of rows) {
  test(`filter ${filter} is ${expected}: ${why}`, () => {
    const verdict = judge(filter);
    assert.equal('fault' in verdict ? verdict.fault : verdict.matches, expected);
  });
}

const LISTS = { name: 'web', ports: Array.from({ length: 100 }, (_, at) => at) };

test('what costs more than one value may is not run to its end, and is said to be so', () => {
  const parsed = parseExpression(nest(3, 'x2 == -1', 'item.ports'));
  assert.ok(parsed.valid);
  const verdict = evaluateFilter(parsed.expression, { item: LISTS });
  assert.ok('fault' in verdict);
  assert.equal(verdict.fault, 'exhausted');
  assert.match(verdict.because, /takes too long.* would be taken/);
  const few = { item: { ports: [1, 2, -1] } };
  assert.deepEqual(evaluateFilter(parsed.expression, few), { matches: true });
});

test('a "not" makes no match of what was not run to its end', () => {
  const parsed = parseExpression(`not ${nest(3, 'x2 == -1', 'item.ports')}`);
  assert.ok(parsed.valid);
  assert.equal(evaluateFilter(parsed.expression, { item: LISTS }).matches, false);
});

test('several values share what is left', () => {
  const parsed = parseExpression('item.name == "web"');
  assert.ok(parsed.valid);
  const budget = { steps: 20 };
  const verdicts = [1, 2, 3, 4].map(() =>
    evaluateFilter(parsed.expression, { item: LISTS }, budget),
  );
  assert.deepEqual(
    verdicts.map(({ matches }) => matches),
    [true, true, false, false],
  );
});

/** `any` within `any`, each over the same list. */
function nest(depth: number, inner: string, over: string): string {
  const rounds = Array.from({ length: depth }, (_, at) => `any ${over} as x${at} { `);
  return `${rounds.join('')}${inner}${' }'.repeat(depth)}`;
}

const many = (count: number, part: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => part(at)).join(' or ');

const WIDE = {
  ...Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`field_${at}`, `value ${at}`])),
  number: 1,
  yes: true,
  list: Array.from({ length: 1000 }, (_, at) => `v${at}`),
  text: 'd'.repeat(16_384),
};

const costly: [why: string, filter: string][] = [
  [
    'small patterns',
    nest(
      3,
      many(40, (at) => `x2 matches "x${at}y"`),
      'item',
    ),
  ],
  [
    'patterns that branch',
    nest(
      3,
      many(40, (at) => `x2 matches "(a|b)?(c|d)?${at}!"`),
      'item',
    ),
  ],
  [
    'comparisons',
    nest(
      3,
      many(280, (at) => `x0==a${at}`),
      'item',
    ),
  ],
  [
    'numbers',
    nest(
      3,
      many(100, () => 'item.number == 111111111111'),
      'item',
    ),
  ],
  [
    'yes and no',
    nest(
      3,
      many(200, () => 'item.yes == false'),
      'item',
    ),
  ],
  ['parts of texts', nest(3, `item.text contains "${'d'.repeat(300)}x"`, 'item')],
  [
    'elements of lists',
    nest(
      3,
      many(200, () => 'item.list contains "x"'),
      'item',
    ),
  ],
  ['rounds alone', nest(3, 'x2 == a', 'item.list')],
  ['a pattern that repeats in a long text', 'item.text matches "(?:x?y?z?){70}$"'],
  ['a pattern of large classes', nest(2, `item.text matches "${'\\\\pL'.repeat(12)}x"`, 'item')],
];

for (const [why, filter] of costly) {
  test(`a value is judged within a hundredth of a second or so, or not at all: ${why}`, async () => {
    // At most some 20 ms; what nothing bounds takes seconds.
    await spendsAtMost(80, () => {
      const parsed = parseExpression(filter);
      assert.ok(parsed.valid, 'because' in parsed ? parsed.because : '');
      const verdict = evaluateFilter(parsed.expression, { item: WIDE });
      assert.ok('fault' in verdict && verdict.fault === 'exhausted');
    });
  });
}

test('a pattern that other engines take for ever over is found in time', () => {
  const parsed = parseExpression('item matches "^(a+)+$"');
  assert.ok(parsed.valid);
  assert.deepEqual(evaluateFilter(parsed.expression, { item: `${'a'.repeat(2_000)}!` }), {
    matches: false,
  });
});
