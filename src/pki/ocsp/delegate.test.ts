import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseDelegateKey, planDelegateValidity } from './delegate.ts';

const NOW = 1_700_000_000;
const DAY = 86_400;
const FAR = NOW + 3650 * DAY;

const ROWS: [why: string, ocsp_expiry: number, issuer_end: number, end: number, renewed: number][] =
  [
    ['a week, renewed when a third of it is left', 12 * 3600, FAR, 7 * DAY, (14 / 3) * DAY],
    ['three times an answer, and an answer is left', 30 * DAY, FAR, 90 * DAY, 60 * DAY],
    ['without an end of answers, a week', 0, FAR, 7 * DAY, (14 / 3) * DAY],
    ['no longer than its issuer', 12 * 3600, NOW + 2 * DAY, 2 * DAY, 2 * DAY],
  ];
for (const [why, ocsp_expiry, issuer_end, end, renewed] of ROWS) {
  test(`a responder's certificate: ${why}`, () => {
    const { not_before, not_after, renewed_at } = planDelegateValidity(
      NOW,
      ocsp_expiry,
      issuer_end,
    );
    assert.ok(not_before < NOW);
    assert.deepEqual([not_after - NOW, renewed_at - NOW], [Math.trunc(end), Math.floor(renewed)]);
    // An answer that is given before the renewal ends before its responder.
    if (issuer_end === FAR) assert.ok(renewed_at + ocsp_expiry <= not_after);
  });
}

test("a responder has a key like its issuer's, but for RSA", () => {
  assert.deepEqual(chooseDelegateKey({ key_type: 'rsa', key_bits: 4096 }), {
    key_type: 'ec',
    key_bits: 256,
  });
  for (const key of [
    { key_type: 'ec', key_bits: 384 },
    { key_type: 'ed25519', key_bits: 0 },
  ] as const) {
    assert.deepEqual(chooseDelegateKey(key), key);
  }
});
