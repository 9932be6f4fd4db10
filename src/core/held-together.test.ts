import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeldTogether } from './held-together.ts';

const sized = (bytes: number) => ({ of: {}, bytes });

test('what many hold counts once, until the last of them lets go of it', () => {
  const together = new HeldTogether({ total: 100, each: 100 });
  const thing = sized(60);
  for (const party of ['a', 'b', 'a']) assert.equal(together.hold(party, thing), true);
  assert.equal(together.held, 60);
  together.release(thing);
  together.release(thing);
  assert.equal(together.held, 60);
  together.release(thing);
  assert.equal(together.held, 0);
});

const rows: [what: string, held: [party: string, bytes: number][], last: [string, number, boolean]][] =
  [
    ['up to the share of a site', [['a', 30]], ['a', 20, true]],
    ['no more than that', [['a', 30]], ['a', 21, false]],
    ['by another site besides', [['a', 30]], ['b', 50, true]],
    ['not beyond the total', [['a', 50], ['b', 50]], ['c', 1, false]],
    ['larger than a share, where it is alone', [], ['a', 900, true]],
    ['larger than a share, where it is not', [['a', 1]], ['a', 900, false]],
  ]; // biome-ignore format: one table
for (const [what, before, [party, bytes, expected]] of rows) {
  test(`${what}: ${expected ? 'held' : 'refused, and nothing is counted'}`, () => {
    const together = new HeldTogether({ total: 100, each: 50 });
    for (const [other, size] of before) assert.ok(together.hold(other, sized(size)));
    const { held } = together;
    assert.equal(together.hold(party, sized(bytes)), expected);
    assert.equal(together.held, held + (expected ? Math.min(bytes, 50) : 0));
  });
}
