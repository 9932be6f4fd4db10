import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeAddresses } from './renewal.ts';

/** What a token may be used from, what its account allows by now, and whether it is renewed. */
const cases: [
  has: string[],
  allows: string[],
  strict: boolean,
  from: string | undefined,
  is: boolean,
][] = [
  [[], [], false, '192.0.2.1', true],
  [[], ['192.0.2.0/24'], false, '192.0.2.1', true],
  [[], ['192.0.2.0/24'], false, '::ffff:192.0.2.1', true],
  [[], ['192.0.2.0/24'], false, '192.0.3.1', false],
  [[], ['192.0.2.0/24'], false, 'unknown', false],
  [['192.0.2.0/24'], ['192.0.0.0/16'], false, undefined, true],
  [['192.0.2.0/24'], ['192.0.2.0/24'], false, undefined, true],
  [['192.0.0.0/16'], ['192.0.2.0/24'], false, undefined, false],
  [['192.0.2.0/24', '10.0.0.1'], ['192.0.2.0/24'], false, undefined, false],
  [[], ['192.0.2.0/24'], false, undefined, false],
  [[], [], false, undefined, true],
  [['192.0.2.1'], [], true, '192.0.2.1', true],
  [['2001:db8::1'], [], true, '2001:db8::1', true],
  [['192.0.2.0/24'], [], true, '192.0.2.1', false],
  [['192.0.2.1', '192.0.2.2'], [], true, '192.0.2.1', false],
  [[], [], true, '192.0.2.1', false],
  [['192.0.2.1'], ['10.0.0.0/8'], true, '192.0.2.1', false],
];
for (const [has, token_bound_cidrs, strict, from, is] of cases) {
  const account = { token_bound_cidrs, token_strictly_bind_ip: strict };
  const what = `${JSON.stringify(has)}, by an account of ${JSON.stringify(account)}, from ${from}`;
  test(`a log-in good for ${what} is ${is ? '' : 'not '}renewed`, () => {
    assert.equal(judgeAddresses(has, account, from) === undefined, is);
  });
}
