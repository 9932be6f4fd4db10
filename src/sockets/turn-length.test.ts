import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOfTurn, noteNewcomer } from './turn-length.ts';

test('turns are short while clients come, and as long as usual once none has come for a while', (t) => {
  let now = 1_000_000;
  t.mock.method(performance, 'now', () => now);
  assert.equal(endOfTurn() - now, 5, 'nobody has come');
  noteNewcomer();
  assert.equal(endOfTurn() - now, 0.5);
  now += 19;
  assert.equal(endOfTurn() - now, 0.5);
  noteNewcomer();
  now += 19;
  assert.equal(endOfTurn() - now, 0.5, 'another has come');
  now += 1;
  assert.equal(endOfTurn() - now, 5);
});
