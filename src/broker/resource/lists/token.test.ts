import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { decodeListToken, encodeListToken, type ListPhase, ListTokenFailure } from './token.ts';

const mac = (text: string): Uint8Array => createHmac('sha256', 'key').update(text).digest();
const NOW = 1_800_000_000_000;
const DAY = 24 * 3600 * 1000;
const bound = { type: 'target', query: 'p_1 false ', grants: 'g' };
const last = { ms: 5, id: 'ttcp_1' };

const phases: ListPhase[] = [
  { at: 'page', last, started_ms: 1, removed: 2 },
  { at: 'complete', bound_ms: 1, removed: 2 },
  { at: 'refresh', last, bound_ms: 1, started_ms: 2, removed: 3 },
];

for (const phase of phases) {
  test(`a token of phase ${phase.at} reads back as it was written`, () => {
    const state = { ...bound, created_ms: NOW, phase };
    const token = encodeListToken(state, mac);
    assert.match(token, /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/);
    assert.deepEqual(decodeListToken(token, bound, NOW + 30 * DAY, mac), state);
  });
}

const refused: [change: object, later: number, because: RegExp][] = [
  [{ type: 'session' }, 0, /resource type does not match expected resource type/],
  [{ query: 'p_2 false ' }, 0, /another scope or parent/],
  [{ grants: 'h' }, 0, /^grants have changed since list token was issued$/],
  [{}, 30 * DAY + 1, /^list token was expired$/],
];

for (const [change, later, because] of refused) {
  test(`a token is refused: ${because.source}`, () => {
    const phase: ListPhase = { at: 'complete', bound_ms: 1, removed: 2 };
    const token = encodeListToken({ ...bound, created_ms: NOW, phase }, mac);
    assert.throws(
      () => decodeListToken(token, { ...bound, ...change }, NOW + later, mac),
      (error) => error instanceof ListTokenFailure && because.test(error.message),
    );
  });
}

test('a token with a character changed, cut off or added is not ours', () => {
  const phase: ListPhase = { at: 'complete', bound_ms: 1, removed: 2 };
  const token = encodeListToken({ ...bound, created_ms: NOW, phase }, mac);
  const [payload = '', tag = ''] = token.split('.');
  const flipped = `${payload[0] === 'e' ? 'f' : 'e'}${payload.slice(1)}.${tag}`;
  for (const bad of [
    '',
    '.',
    payload,
    `${payload}.`,
    `.${tag}`,
    flipped,
    `${token}.`,
    `${payload}.${tag.slice(1)}`,
  ]) {
    assert.throws(() => decodeListToken(bad, bound, NOW, mac), ListTokenFailure, bad);
  }
  const other = (text: string): Uint8Array => createHmac('sha256', 'other').update(text).digest();
  assert.throws(() => decodeListToken(token, bound, NOW, other), ListTokenFailure);
});
