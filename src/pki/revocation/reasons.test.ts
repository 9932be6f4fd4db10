import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseReason } from './reasons.ts';

const reasons: [written: string, code: number | RegExp][] = [
  ['', 0],
  ['unspecified', 0],
  ['keyCompromise', 1],
  ['KEYCOMPROMISE', 1],
  ['1', 1],
  ['cACompromise', 2],
  ['affiliationChanged', 3],
  ['superseded', 4],
  ['cessationOfOperation', 5],
  ['certificateHold', 6],
  ['6', 6],
  ['privilegeWithdrawn', 9],
  ['aACompromise', 10],
  ['removeFromCRL', /removeFromCRL is no reason to revoke/],
  ['8', /removeFromCRL is no reason to revoke/],
  ['7', /is none of RFC 5280/],
  ['11', /is none of RFC 5280/],
  ['01', /is none of RFC 5280/],
  ['key_compromise', /is none of RFC 5280/],
  ['key compromise', /is none of RFC 5280/],
];
for (const [written, code] of reasons) {
  test(`the reason "${written}" is ${typeof code === 'number' ? code : 'none'}`, () => {
    if (typeof code === 'number') assert.equal(parseReason(written), code);
    else assert.throws(() => parseReason(written), code);
  });
}
