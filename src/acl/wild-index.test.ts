import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doAll } from '../core/steps.ts';
import {
  ANY_REST,
  ANY_SEGMENT,
  comparePrecedence,
  compilePattern,
  matchesTail,
} from './path-pattern.ts';
import { findFirst, walkMatching } from './wild-index.ts';

/** The same numbers at every run. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8) % sides;
  };
}

const WORDS = ['a', 'b', 'ab', 'abc', 'B', '', ANY_SEGMENT, ANY_SEGMENT];

function bucketOf(roll: (sides: number) => number, count: number) {
  const forms = new Set<string>();
  for (let at = 0; at < count; at++) {
    const segments = Array.from({ length: roll(5) }, () => WORDS[roll(WORDS.length)] ?? '');
    const form = ['head', ANY_SEGMENT, ...segments].join('/');
    const ends = form.endsWith(ANY_SEGMENT);
    forms.add(!ends && roll(2) === 0 ? form + ANY_REST : form);
  }
  return [...forms]
    .map((form) => ({ pattern: compilePattern(form) ?? assert.fail() }))
    .sort((one, other) => comparePrecedence(one.pattern, other.pattern));
}

test('what is looked up is what is found by trying one rule after the other', () => {
  const roll = dice(7);
  let found = 0;
  for (let round = 0; round < 40; round++) {
    const bucket = bucketOf(roll, 10 + roll(150));
    for (let at = 0; at < 200; at++) {
      const segments = Array.from({ length: roll(6) }, () => WORDS[roll(6)] ?? '');
      const path = `head/${segments.join('/')}`;
      const expected = bucket.find(({ pattern }) => matchesTail(pattern, path));
      assert.equal(doAll(findFirst(bucket, path)), expected, path);
      const matching = [...walkMatching(bucket, path)].filter((one) => one !== undefined);
      const all = bucket.filter(({ pattern }) => matchesTail(pattern, path));
      assert.deepEqual(new Set(matching), new Set(all), path);
      assert.equal(matching.length, all.length);
      if (expected) found++;
    }
  }
  assert.ok(found > 2000 && found < 7000, `${found} of 8000`);
});

test('patterns of many segments are told apart by whichever differs', () => {
  const places = [0, 4, 9];
  for (const differing of places) {
    const bucket = Array.from({ length: 2000 }, (_, n) => {
      const segments = Array.from({ length: 10 }, (_, at) => (at === differing ? `m${n}` : 'same'));
      return { pattern: compilePattern(`${ANY_SEGMENT}/${segments.join('/')}`) ?? assert.fail() };
    });
    const path = `x/${Array.from({ length: 10 }, (_, at) => (at === differing ? 'm77' : 'same')).join('/')}`;
    const effort = { left: 1000 };
    assert.equal(doAll(findFirst(bucket, path, effort)), bucket[77]);
    assert.ok(effort.left > 900, `${1000 - effort.left} were looked at`);
  }
});
