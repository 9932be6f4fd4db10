import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countJsonParts, type JsonLimits, weighJsonParts } from './json-parts.ts';

const ANY: JsonLimits = { maxDepth: 99, maxValues: 99, maxMembers: 99 };

const counted: [text: string, values: number, members: number][] = [
  ['', 0, 0],
  ['1', 0, 0],
  ['{}', 1, 0],
  ['{"a":1}', 1, 1],
  ['{"a":1,"b":[2,3]}', 4, 2],
  ['[{"a":1},{"b":1}]', 4, 2],
  ['{"a,[{:":"\\",:[{"}', 1, 1],
  ['{"a\\\\":1,"b":2}', 2, 2],
  [`{"a":"${'x'.repeat(60)}\\\\","b":","}`, 2, 2],
  [`{"a":"${'x'.repeat(60)}\\",:["}`, 1, 1],
  ['{"a":1,"b', 2, 1],
];
for (const [text, values, members] of counted) {
  test(`${JSON.stringify(text.slice(0, 30))} has ${values} values and ${members} members`, () => {
    assert.deepEqual(countJsonParts(text, ANY), { values, members });
  });
}

const beyond: [limits: Partial<JsonLimits>, text: string, limit: keyof JsonLimits | undefined][] = [
  [{ maxDepth: 2 }, '[[],[]]', undefined],
  [{ maxDepth: 2 }, '[[],[[]]]', 'maxDepth'],
  [{ maxValues: 3 }, '[1,2,3]', undefined],
  [{ maxValues: 3 }, '[1,2,3,4]', 'maxValues'],
  [{ maxValues: 3 }, '[1,2,[]]', 'maxValues'],
  [{ maxMembers: 2 }, '{"a":{"b":":"}}', undefined],
  [{ maxMembers: 2 }, '{"a":{"b":{"c":1}}}', 'maxMembers'],
];
for (const [limits, text, limit] of beyond) {
  test(`${text} is ${limit ? 'beyond' : 'within'} ${JSON.stringify(limits)}`, () => {
    assert.equal(countJsonParts(text, { ...ANY, ...limits }).beyond, limit);
  });
}

test('a member weighs what a value does, and its name', () => {
  assert.equal(weighJsonParts({ values: 2, members: 0 }), 128);
  assert.equal(weighJsonParts({ values: 2, members: 1 }), 320);
});
