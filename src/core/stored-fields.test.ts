import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { MAX_LIST } from './conversions.ts';
import { choice, duration, modestList, optional } from './fields.ts';
import { storedOf } from './stored-fields.ts';

const fields = {
  names: modestList([]),
  ttl: duration(0),
  word: choice(['a', 'b'], 'a'),
  more: optional(modestList()),
};
const sent = z.object(fields);
const stored = storedOf(fields);
const long = Array.from({ length: 100 }, (_, at) => `${at}`.padEnd(MAX_LIST / 100 + 1, 'x'));

test('what is within the bounds, or left out, is read from a record as it is from a request', () => {
  for (const record of [{}, { names: ['a'], ttl: 5, word: 'b', more: ['c'] }, { names: 'a,b' }]) {
    assert.deepEqual(stored.parse(record), sent.parse(record));
  }
});

const cases: [what: string, record: object, read: object | false][] = [
  ['a list beyond its bound', { names: long }, { names: long, ttl: 0, word: 'a' }],
  ['one that is no list', { names: 5.5 }, { names: ['5.5'], ttl: 0, word: 'a' }],
  ['one that holds something else', { names: [{}] }, false],
  ['a word that is none', { word: 'c' }, false],
  ['a time that is none', { ttl: -1 }, false],
];
for (const [what, record, read] of cases) {
  test(`${what} is ${read ? '' : 'not '}read from a record`, () => {
    const { success, data } = stored.safeParse(record);
    assert.equal(success, read !== false);
    if (read) assert.deepEqual(data, read);
  });
}

test('a list beyond its bound is refused in a request', () => {
  assert.equal(sent.safeParse({ names: long }).success, false);
  assert.equal(sent.safeParse({ names: long.slice(1) }).success, true);
});
