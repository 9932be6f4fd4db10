import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import { hasKeyTwice } from './json-keys.ts';

const cases: [text: string, twice: boolean][] = [
  ['{}', false],
  ['7', false],
  ['{"a":1,"b":2}', false],
  ['{"a":1,"a":1}', true],
  ['{"a":1,"\\u0061":2}', true],
  ['{"a":{"b":1},"c":{"b":1}}', false],
  ['{"a":{"b":1,"b":1}}', true],
  ['[{"a":1},{"a":1}]', false],
  ['[{"a":1,"a":2}]', true],
  ['{"a:b":"c:d\\":e","f":"\\\\"}', false],
  ['{"__proto__":1,"__proto__":2}', true],
];
for (const [text, twice] of cases) {
  test(`${text} ${twice ? 'has' : 'does not have'} a key twice`, () => {
    assert.equal(hasKeyTwice(text, JSON.parse(text)), twice);
  });
}

test('a long and a deep text are looked at without delay', async () => {
  for (const text of [`${'['.repeat(5000)}${']'.repeat(5000)}`, `["${':'.repeat(1 << 20)}"]`]) {
    const value = JSON.parse(text);
    await spendsAtMost(200, () => assert.equal(hasKeyTwice(text, value), false));
  }
});
