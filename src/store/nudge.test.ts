import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Nudge } from './nudge.ts';

test('says once that there is something new, until it is looked at', () => {
  let told = 0;
  const nudge = new Nudge(() => {
    told += 1;
  });
  nudge.raise();
  assert.equal(told, 1);
  nudge.looked();
  assert.equal(told, 1);
  nudge.raise();
  assert.equal(told, 2);
});

test('says again what came before the other side is known to have looked', () => {
  let told = 0;
  const nudge = new Nudge(() => {
    told += 1;
  });
  nudge.raise();
  // They may have looked before these, although that is heard of later.
  nudge.raise();
  nudge.raise();
  assert.equal(told, 1);
  nudge.looked();
  assert.equal(told, 2);
  nudge.looked();
  assert.equal(told, 2);
});
