import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../../test/support/cpu-time.ts';
import { Failure } from '../failure.ts';
import { evaluate } from './evaluation.ts';
import { LONGEST_EXPRESSION, parseExpression } from './parser.ts';

const ENTITY = {
  id: 'e1',
  name: 'ada',
  disabled: false,
  metadata: { team: 'ops', site: 'b', 'a b': 'blank' },
  aliases: [
    { name: 'ada', mount: 'userpass/', age: 3 },
    { name: 'lovelace', mount: 'approle/', age: 1 },
    { name: 'countess', mount: 'approle/', age: 2 },
  ],
  nested: [[1, 2], [3, [4]], 5],
  by: { x: { n: 1, deep: { er: 'x' } }, y: { n: 2, deep: { er: 'y' } }, z: 7 },
};

const ask = (text: string, about: unknown = ENTITY): unknown =>
  evaluate(parseExpression(text), about);

const cases: [expression: string, result: unknown][] = [
  ['@', ENTITY],
  ['name', 'ada'],
  ['metadata.team', 'ops'],
  ['metadata."a b"', 'blank'],
  ['metadata.none.further', null],
  ['toString', null],
  ['metadata.__proto__', null],
  ['constructor.name', null],
  ['aliases[0].name', 'ada'],
  ['aliases[-1].name', 'countess'],
  ['aliases[9]', null],
  ['aliases[*].name', ['ada', 'lovelace', 'countess']],
  ['aliases[1:].age', [1, 2]],
  ['aliases[::-1].age', [2, 1, 3]],
  ['aliases[:1].age', [3]],
  ["aliases[?mount=='approle/'].name", ['lovelace', 'countess']],
  ['aliases[?age > `1` && !(name == `"ada"`)].age', [2]],
  ['aliases[?age >= `3` || age < `2`].age', [3, 1]],
  [
    'aliases[*].[name, age]',
    [
      ['ada', 3],
      ['lovelace', 1],
      ['countess', 2],
    ],
  ],
  ['reverse(id)', '1e'],
  ['aliases[*].{n: name} | [0]', { n: 'ada' }],
  ['{who: name, "the team": metadata.team}', { who: 'ada', 'the team': 'ops' }],
  ['nested[]', [1, 2, 3, [4], 5]],
  ['nested[][]', [1, 2, 3, 4, 5]],
  ['nested[*][0]', [1, 3]],
  ['by.*.n', [1, 2]],
  ['by.*.deep.er', ['x', 'y']],
  ['*.team', ['ops']],
  ['[name, metadata.site]', ['ada', 'b']],
  ['none || name', 'ada'],
  ['name && id', 'e1'],
  ['!disabled', true],
  ["'raw \\' text'", "raw ' text"],
  ['`{"a": [1, "\\`"]}`.a[1]', '`'],
  ['name == none', false],
  ['none == `null`', true],
  ['name < `1`', null],
  ['abs(`-2`)', 2],
  ['avg(aliases[*].age)', 2],
  ['ceil(`1.2`)', 2],
  ['floor(`1.8`)', 1],
  ["contains(name, 'd')", true],
  ["contains(name, 'ad') && !contains(name, 'dd')", true],
  ['contains(aliases[*].age, `3`)', true],
  ["ends_with(name, 'da')", true],
  ["starts_with(name, 'da')", false],
  ["join('+', aliases[*].name)", 'ada+lovelace+countess'],
  ['keys(metadata)', ['team', 'site', 'a b']],
  ['values(metadata)', ['ops', 'b', 'blank']],
  ['length(name)', 3],
  ['length(aliases)', 3],
  ['map(&age, aliases)', [3, 1, 2]],
  ['max(aliases[*].age)', 3],
  ['min(aliases[*].name)', 'ada'],
  ['max_by(aliases, &age).name', 'ada'],
  ['min_by(aliases, &age).name', 'lovelace'],
  ['sort_by(aliases, &age)[*].age', [1, 2, 3]],
  ['sort(aliases[*].name)', ['ada', 'countess', 'lovelace']],
  ['reverse(name)', 'ada'],
  ['reverse(aliases[*].age)', [2, 1, 3]],
  ['sum(aliases[*].age)', 6],
  ['merge(metadata, {team: name}).team', 'ada'],
  ['not_null(none, name)', 'ada'],
  ['to_array(name)', ['ada']],
  ["to_number('12.5')", 12.5],
  ["to_number('x')", null],
  ['to_string(aliases[0].age)', '3'],
  ['to_string(nested)', '[[1,2],[3,[4]],5]'],
  ['type(aliases)', 'array'],
  ['type(none)', 'null'],
  ["aliases[?contains(mount, 'role')] | length(@)", 2],
];
for (const [expression, result] of cases) {
  test(`${expression} is found as the specification has it`, () => {
    assert.deepEqual(ask(expression), result);
  });
}

const refused: [expression: string, says: RegExp][] = [
  ['', /ends too early/],
  ['a.', /ends too early/],
  ['a b', /character 3/],
  ['a[', /"\*" is missing/],
  ['a[0', /cannot stand here|too early/],
  ['[?a', /"]" is missing/],
  ['{a}', /":" is missing/],
  ['"a"(b)', /not quoted/],
  ['nothing(a)', /no function nothing/],
  ['a[::0]', /step of 0/],
  ['a[1:2:3:4]', /cannot stand here/],
  ['`{`', /no JSON/],
  ["'a", /nothing that can stand/],
  ['#', /nothing that can stand/],
  ['"\\x"', /no JSON/],
  [`${'('.repeat(40)}a${')'.repeat(40)}`, /too deep/],
  [`${'!'.repeat(100)}a`, /too deep/],
  ['a'.repeat(LONGEST_EXPRESSION + 1), /more than 2048/],
];
for (const [expression, says] of refused) {
  test(`${JSON.stringify(expression.slice(0, 20))} is refused: ${says.source}`, () => {
    assert.throws(
      () => parseExpression(expression),
      (error) => error instanceof Failure && error.kind === 'invalid' && says.test(error.message),
    );
  });
}

const failing: [expression: string, says: RegExp][] = [
  ['length(`1`)', /takes an object/],
  ['sum(aliases[*].name)', /takes numbers/],
  ['sort(`[1, "a"]`)', /all numbers or all texts/],
  ['abs(name)', /takes a number/],
  ["join(',', `[1]`)", /takes texts/],
  ['map(name, aliases)', /an expression/],
  ['length(&name)', /takes/],
  ['not_null(&name)', /takes a value/],
  ['abs()', /given 0 values/],
];
for (const [expression, says] of failing) {
  test(`${expression} is refused when it is asked`, () => {
    assert.throws(
      () => ask(expression),
      (error) => error instanceof Failure && error.kind === 'invalid' && says.test(error.message),
    );
  });
}

const growing: [what: string, expression: string][] = [
  ['lists', `${'[@,@]|'.repeat(60)}@`],
  ['texts', `name|${"join(@, ['a','b','c'])|".repeat(60)}@`],
  ['lists that are flattened', `${'[@,@][]|'.repeat(60)}@`],
  ['comparisons', `${'[@,@]|'.repeat(40)}@ == @`],
  ['texts of what is written', `${'[@,@]|'.repeat(30)}to_string(@)`],
  ['objects', `${'{a:@,b:@}|'.repeat(60)}@`],
];
for (const [what, expression] of growing) {
  test(`${what} that double with each step end with the budget, at once`, () =>
    spendsAtMost(200, () => {
      assert.throws(() => ask(expression), /takes or makes too much/);
    }));
}

const lengthOf = (expression: string): string => `length(${expression})`;
const longText = 'a'.repeat(390_000);
const sorted = Array.from({ length: 50 }, (_, at) => 'a'.repeat(4_000) + String(at));
const objectOf = (length: number, name: string) =>
  Object.fromEntries(Array.from({ length }, (_, at) => [`${name}${at}`, at]));
const objects = { a: objectOf(1_000, 'a'), b: objectOf(1_000, 'b') };

/** What is just within the budget, and what is just beyond it. */
const largest: [what: string, expression: string, within: unknown, beyond: unknown][] = [
  [
    'a text that is nearly there at each place',
    'contains(text, part)',
    { text: longText + longText, part: `${longText}b${longText}` },
    { text: longText + longText, part: `${longText}b${longText}${longText}` },
  ],
  [
    'texts that are nearly there',
    '[*].contains(text, part)',
    Array(20).fill({ text: 'ab'.repeat(20_000), part: `${'ab'.repeat(15_000)}c` }),
    Array(24).fill({ text: 'ab'.repeat(20_000), part: `${'ab'.repeat(15_000)}c` }),
  ],
  ['the characters of a text', lengthOf('@'), longText.repeat(4), longText.repeat(5)],
  ['a text from its end', lengthOf('reverse(@)'), longText.repeat(2), longText.repeat(5)],
  [
    'long texts that differ at their ends, in order',
    lengthOf('sort(@)'),
    sorted,
    [...sorted, ...sorted],
  ],
  [
    'numbers, in order',
    lengthOf('sort(@)'),
    Array.from({ length: 6_000 }, (_, at) => (at * 7_919) % 6_000),
    Array.from({ length: 8_000 }, (_, at) => (at * 7_919) % 8_000),
  ],
  [
    'objects that have other names',
    lengthOf('@[?a == b]'),
    Array(49).fill(objects),
    Array(50).fill(objects),
  ],
  [
    'objects that are not empty',
    lengthOf('@[?a]'),
    Array(99).fill(objects),
    Array(100).fill(objects),
  ],
  [
    'objects that are put together',
    lengthOf('merge(@, @, @, @, @, @, @)'),
    objectOf(12_000, 'k'),
    objectOf(15_000, 'k'),
  ],
  [
    'lists that are made of each item',
    lengthOf('@[*].[a, a, a, a, a, a, a, a]'),
    Array(9_000).fill({ a: 1 }),
    Array(12_000).fill({ a: 1 }),
  ],
];
for (const [what, expression, within, beyond] of largest) {
  test(`${what} take some tens of milliseconds at most, and more is refused`, async () => {
    await spendsAtMost(100, () => void ask(expression, within));
    await spendsAtMost(100, () => {
      assert.throws(() => ask(expression, beyond), /takes or makes too much/);
    });
  });
}
