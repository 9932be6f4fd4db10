import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseHeaderName, tellHeaders } from './header.ts';

const names: [sent: string, name: string | undefined][] = [
  ['X-Forwarded-For', 'x-forwarded-for'],
  ['user-agent', 'user-agent'],
  ['2fa', '2fa'],
  ['', undefined],
  ['x y', undefined],
  ['x:y', undefined],
  ['__proto__', undefined],
  ['ü', undefined],
  [`x${'y'.repeat(255)}`, `x${'y'.repeat(255)}`],
  [`x${'y'.repeat(256)}`, undefined],
];
for (const [sent, name] of names) {
  test(`"${sent.slice(0, 20)}" ${name === undefined ? 'is no' : 'is a'} name of a header`, () => {
    if (name === undefined) assert.throws(() => parseHeaderName(sent), { kind: 'invalid' });
    else assert.equal(parseHeaderName(sent), name);
  });
}

const configured = new Map([
  ['x-plain', { hmac: false }],
  ['x-hashed', { hmac: true }],
  ['authorization', { hmac: false }],
  ['constructor', { hmac: false }],
]);
const HASH = `hmac-sha256:${'0'.repeat(64)}`;

const cases: [what: string, raw: string[], told: Record<string, string[]> | undefined][] = [
  ['one that nobody asked for is not told', ['X-Other', 'a'], undefined],
  ['no header, nothing told', [], undefined],
  ['one is told in lower case', ['X-Plain', 'a'], { 'x-plain': ['a'] }],
  ['each of its values is', ['X-Plain', 'a', 'x-plain', 'b'], { 'x-plain': ['a', 'b'] }],
  ['a value is no name', ['X-Other', 'x-plain', 'a', 'b'], undefined],
  ['one is told by its hash', ['X-Hashed', 'a'], { 'x-hashed': ['#a'] }],
  ['a credential always is', ['Authorization', 'Bearer x'], { authorization: ['#Bearer x'] }],
  ['a long value is', ['X-Plain', 'y'.repeat(1025)], { 'x-plain': [`#${'y'.repeat(1025)}`] }],
  ['one that is not too long', ['X-Plain', 'y'.repeat(1024)], { 'x-plain': ['y'.repeat(1024)] }],
  ['what looks like a hash is', ['X-Plain', HASH], { 'x-plain': [`#${HASH}`] }],
  ['a name that objects have', ['constructor', 'a'], { constructor: ['a'] }],
];
for (const [what, raw, told] of cases) {
  test(`of the headers of a request: ${what}`, () => {
    assert.deepEqual(
      tellHeaders(configured, raw, (value) => `#${value}`),
      told,
    );
  });
}
