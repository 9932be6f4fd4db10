import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  batchToken,
  batchTokenBytes,
  encodeToken,
  oneTimePassword,
  serviceToken,
  TOKEN_LENGTH,
  TOKEN_RANDOMNESS,
  tokenAccessor,
} from './token-format.ts';

const random = new Uint8Array(TOKEN_RANDOMNESS).map((_, index) => index * 37 + 11);

test('a service token is hvs. and 24 letters and digits', () => {
  assert.match(serviceToken(random), /^hvs\.[0-9A-Za-z]{24}$/);
});

test('an accessor has 24 letters and digits and no prefix', () => {
  assert.match(tokenAccessor(random), /^[0-9A-Za-z]{24}$/);
});

test('a one-time password is as long as a service token', () => {
  assert.match(oneTimePassword(random), /^[0-9A-Za-z]{28}$/);
  assert.equal(TOKEN_LENGTH, serviceToken(random).length);
});

test('a batch token gives its sealed bytes back', () => {
  assert.deepEqual(
    batchTokenBytes(batchToken(Buffer.from([0xfb, 0xff, 1]))),
    Buffer.from([0xfb, 0xff, 1]),
  );
});

for (const token of ['hvs.AAAA', 'hvb.', 'hvb.A', 'hvb.AAA=', 'hvb.AA A', 'AAAA', 'hvb.+/+/']) {
  test(`"${token}" is not the form of a batch token`, () => {
    assert.equal(batchTokenBytes(token), undefined);
  });
}

test('a token hidden in a one-time password comes out by the same exclusive or', () => {
  const token = serviceToken(random);
  const otp = oneTimePassword(random.map((byte) => byte ^ 0x5a));
  const encoded = encodeToken(token, otp);
  assert.doesNotMatch(encoded, /=/);
  const hidden = Buffer.from(encoded, 'base64');
  const shown = hidden.map((byte, at) => byte ^ otp.charCodeAt(at));
  assert.equal(Buffer.from(shown).toString('utf8'), token);
});

test('"hvs" hidden in "ABC" is KTQw, as worked out by hand', () => {
  // 68^41 = 29, 76^42 = 34, 73^43 = 30.
  assert.equal(encodeToken('hvs', 'ABC'), 'KTQw');
});

test('a one-time password of another length than the token is refused', () => {
  assert.throws(() => encodeToken(serviceToken(random), 'short'), RangeError);
});
