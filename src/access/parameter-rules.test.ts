import assert from 'node:assert/strict';
import test from 'node:test';
import { judgeParameters, mergeParameters } from './parameter-rules.ts';
import type { ParameterValue } from './policy.ts';

type Values = Record<string, ParameterValue[]>;

function isAllowed(
  rule: { allowed?: Values; denied?: Values; required?: string[] },
  parameters: Record<string, unknown>,
): boolean {
  const conditions = {
    allowed_parameters: new Map(Object.entries(rule.allowed ?? {})),
    denied_parameters: new Map(Object.entries(rule.denied ?? {})),
    required_parameters: rule.required ?? [],
  };
  return judgeParameters(conditions, parameters) === undefined;
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
  [{ denied: { name: ['admin'] } }, { name: 'Admin' }, true, 'other values letter by letter'],
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
  const merged = mergeParameters(
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
  );
  assert.deepEqual(Object.fromEntries(merged), { a: ['1', '2'], b: [], c: [], d: ['z'] });
});
