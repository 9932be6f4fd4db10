import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { blake2b256 } from '../../core/blake2b.ts';
import { faultOfToken, listMissingCapabilities, planRenewal, tokenHmac } from './token.ts';

const fit = { orphan: true, period: 60, renewable: true, accessor: 'a' };

const looked: [change: object, fault: RegExp | undefined][] = [
  [{}, undefined],
  [{ orphan: false }, /orphan/],
  [{ period: 0 }, /periodic/],
  [{ period: undefined }, /periodic/],
  [{ renewable: false }, /renewable/],
  [{ accessor: '' }, /accessor/],
];

for (const [change, fault] of looked) {
  test(`a token with ${JSON.stringify(change)} is ${fault ? 'unfit' : 'fit'}`, () => {
    const found = faultOfToken({ ...fit, ...change });
    if (fault) assert.match(found ?? '', fault);
    else assert.equal(found, undefined);
  });
}

const all = {
  'auth/token/lookup-self': ['read'],
  'auth/token/renew-self': ['update'],
  'auth/token/revoke-self': ['create', 'update'],
  'sys/leases/renew': ['root'],
  'sys/leases/revoke': ['update'],
};

test('capabilities are found with and without an envelope around them', () => {
  assert.deepEqual(listMissingCapabilities({ data: all }), []);
  assert.deepEqual(listMissingCapabilities(all), []);
  const less = { ...all, 'sys/leases/revoke': ['deny'] };
  assert.deepEqual(listMissingCapabilities({ data: less }), ['"update" on sys/leases/revoke']);
  assert.equal(listMissingCapabilities({}).length, 5);
});

test('a token is recognised by a keyed hash, the key made of its accessor', () => {
  const expected = createHmac('sha256', blake2b256(Buffer.from('a'))).update('t');
  assert.equal(tokenHmac('t', 'a'), expected.digest('base64url'));
  assert.notEqual(tokenHmac('t', 'b'), tokenHmac('t', 'a'));
});

test('what lives some seconds is renewed with half of them left', () => {
  assert.deepEqual(planRenewal(100, 60), { renew_at: 130, expires_at: 160 });
  assert.deepEqual(planRenewal(100, 0), { renew_at: 101, expires_at: 100 });
});
