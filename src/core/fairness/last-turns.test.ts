import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LastTurns } from './last-turns.ts';

test('of too many who had turns, whose turn is longest ago is one who had none', () => {
  const turns = new LastTurns(2);
  turns.set('a', 1);
  turns.set('b', 2);
  turns.set('a', 3);
  turns.set('c', 4);
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((key) => turns.get(key)),
    [3, 0, 4, 0],
  );
});
