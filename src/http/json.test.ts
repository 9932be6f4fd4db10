import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../core/failure.ts';
import { parseFormBody, parseJsonBody } from './json.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const nest = (depth: number): string => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;

const accepted: [text: string, value: unknown, why: string][] = [
  ['{}', {}, 'nothing sent'],
  ['{"a":1,"b":{"a":2}}', { a: 1, b: { a: 2 } }, 'the same name in another object'],
  ['{"a":["x","x"]}', { a: ['x', 'x'] }, 'equal items of a list are no names'],
  ['{"a\\\\":1,"b":"\\"}{"}', { 'a\\': 1, b: '"}{' }, 'escapes and brackets within strings'],
  ['{"constructor":1}', { constructor: 1 }, 'a name like any other'],
  [nest(31), JSON.parse(nest(31)), 'the deepest that is taken'],
];
for (const [text, value, why] of accepted) {
  test(`JSON is taken: ${why}`, () => assert.deepEqual(parseJsonBody(bytes(text)), value));
}

const refused: [body: Uint8Array, says: RegExp, why: string][] = [
  [bytes(nest(32)), /levels deep/, 'one level too deep'],
  [bytes('['.repeat(1_000_000)), /levels deep/, 'a depth bomb'],
  [bytes('{"a":1,"a":2}'), /"a" occurs twice/, 'a name twice'],
  [bytes('{"a":1,"\\u0061":2}'), /"a" occurs twice/, 'a name twice, once escaped'],
  [bytes('{"__proto__":{}}'), /__proto__/, 'a name that reaches into objects'],
  [bytes('{"b":{"__proto\\u005f_":{}}}'), /__proto__/, 'the same, escaped and deeper'],
  [bytes('[]'), /must be a JSON object/, 'a list'],
  [bytes('null'), /must be a JSON object/, 'null'],
  [bytes('ttl=1h'), /not one JSON object/, 'a form'],
  [bytes('{} {}'), /not one JSON object/, 'two objects'],
  [bytes('{"a":"'), /not one JSON object/, 'a string without an end'],
  [Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d), /UTF-8/, 'bytes that are not UTF-8'],
];
for (const [body, says, why] of refused) {
  test(`JSON is refused: ${why}`, () => {
    assert.throws(
      () => parseJsonBody(body),
      (error) => error instanceof Failure && error.kind === 'invalid' && says.test(error.message),
    );
  });
}

test('a form field that occurs twice is a list', () => {
  assert.deepEqual(parseFormBody(bytes('a=1&b=x&b=y')), { a: '1', b: ['x', 'y'] });
  assert.throws(() => parseFormBody(bytes('__proto__=1')), Failure);
});
