import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idleBefore, lastUseOf, type SessionUse, UNNOTED_MS } from './idle.ts';

const FRESH: SessionUse = { created_ms: 100, active_ms: null, left_ms: 0, carried_ms: null };

const cases: [why: string, use: Partial<SessionUse>, last_ms: number][] = [
  ['a session that nobody has used counts from its creation', {}, 100],
  ['its activation is a use', { active_ms: 200 }, 200],
  ['so is what it carries', { active_ms: 200, carried_ms: 300 }, 300],
  ['and the end of a connection', { active_ms: 200, left_ms: 400 }, 400],
  ['the last of them counts', { active_ms: 200, left_ms: 400, carried_ms: 500 }, 500],
  ['whichever it was', { active_ms: 600, left_ms: 400, carried_ms: 500 }, 600],
];

for (const [why, use, last_ms] of cases) {
  test(`of a session's use, ${why}`, () => {
    assert.equal(lastUseOf({ ...FRESH, ...use }), last_ms);
  });
}

test('a session is idle only once its last byte within the time would have been noted', () => {
  assert.equal(idleBefore(1_000_000, 60), 1_000_000 - 60_000 - UNNOTED_MS);
});
