import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepFormer } from './former-issuers.ts';

const former = new Map([
  ['1', 'here'],
  ['2', 'gone'],
  ['3', 'here'],
  ['4', 'gone'],
]);
const removed = [{ id: '5', class: 'gone' }];

const ROWS: [why: string, most: number, present: string[], kept: string][] = [
  ['all, where there is room', 5, ['here'], '12345'],
  ['without the first whose subject and key nobody has', 4, ['here'], '1345'],
  ['those that an issuer stands for before all others', 2, ['here'], '13'],
  ['the last of those, where they are too many', 1, ['here'], '3'],
  ['the last, where nobody stands for any', 2, [], '45'],
];
for (const [why, most, present, kept] of ROWS) {
  test(`removed issuers are remembered: ${why}`, () => {
    const left = keepFormer(former, removed, new Set(present), most);
    assert.equal([...left.keys()].join(''), kept);
    assert.equal(left.get('3') ?? 'here', 'here');
  });
}
