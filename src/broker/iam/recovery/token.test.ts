import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { makeRecoveryToken } from '../../../../test/support/recovery-token.ts';
import { parseRecoveryKey } from '../../../config/recovery-key.ts';
import { Failure } from '../../../core/failure.ts';
import { judgeRecoveryToken } from './token.ts';

const key = randomBytes(32);
const NOW = Date.parse('2026-11-21T12:00:00Z');
const minutes = (count: number): number => NOW + count * 60_000;

const judge = (text: string): string => {
  const verdict = judgeRecoveryToken(text, key, NOW);
  return 'token' in verdict ? 'taken' : verdict.refused;
};

const ages: [created_ms: number, taken: boolean, why: string][] = [
  [NOW, true, 'made this moment'],
  [minutes(-5), true, 'five minutes old'],
  [minutes(-5) - 1, false, 'a little older'],
  [minutes(1), true, 'a minute ahead, as clocks differ'],
  [minutes(1) + 1, false, 'further ahead'],
];
for (const [created_ms, taken, why] of ages) {
  test(`a recovery token ${why} is ${taken ? 'taken' : 'refused'}`, () => {
    assert.equal(judge(makeRecoveryToken(key, { created_ms })) === 'taken', taken);
  });
}

const bad: [text: () => string, why: string][] = [
  [() => makeRecoveryToken(randomBytes(32), { created_ms: NOW }), 'made with another key'],
  [() => makeRecoveryToken(key, { created_ms: NOW, nonce: 'AAAA' }), 'with a short nonce'],
  [() => makeRecoveryToken(key, { created_ms: NOW }).replace('r_1', 'r_2'), 'of another version'],
  [() => makeRecoveryToken(key, { created_ms: NOW }).slice(0, -3), 'cut off'],
  [() => 'r_1', 'of nothing'],
  [() => 'r_1000', 'in no base58'],
  [() => `r_1${'z'.repeat(2000)}`, 'far too long'],
  [() => makeRecoveryToken(key, { text: '"nonce"' }), 'that says nothing of itself'],
  [() => makeRecoveryToken(key, { text: '{"nonce":' }), 'that is no JSON'],
];
for (const [text, why] of bad) {
  test(`a recovery token ${why} is refused`, () => {
    assert.notEqual(judge(text()), 'taken');
  });
}

test('a token whose sealed text was changed in any byte is refused', () => {
  const whole = makeRecoveryToken(key, { created_ms: NOW });
  // Behind the sealed text come words about the key, which nobody relies on.
  for (let at = 3; at < 180; at += 7) {
    const other = whole[at] === 'a' ? 'b' : 'a';
    const changed = whole.slice(0, at) + other + whole.slice(at + 1);
    assert.notEqual(judge(changed), 'taken', `character ${at}`);
  }
});

test('the key is 32 bytes in base64, and no refusal shows it', () => {
  assert.deepEqual(parseRecoveryKey('recovery_key', key.toString('base64')), key);
  for (const text of [
    '',
    'c2hvcnQ=',
    `${key.toString('base64')}AAAA`,
    `!${key.toString('base64')}`,
  ]) {
    assert.throws(
      () => parseRecoveryKey('recovery_key', text),
      (error) =>
        error instanceof Failure && error.message === 'recovery_key must be 32 bytes in base64',
    );
  }
});
