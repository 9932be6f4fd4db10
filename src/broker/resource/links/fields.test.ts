import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FieldErrors } from '../field-errors.ts';
import { faultOfGrantLengths } from '../grants/grant.ts';
import { faultOfTotal, idCheck } from './fields.ts';

const ids = (count: number, length = 1): string[] => Array(count).fill('x'.repeat(length));

function refuses(named: readonly string[]): boolean {
  const errors = new FieldErrors();
  idCheck('ids', () => undefined)({ ids: named }, errors, { change: 'set' });
  return errors.has('ids');
}

const lists: [named: string[], refused: boolean, why: string][] = [
  [ids(0), false, 'none'],
  [ids(2_000), false, 'as many as can be'],
  [ids(2_001), true, 'one more'],
  [ids(1, 128), false, 'as long as can be'],
  [ids(1, 129), true, 'one letter more'],
];

for (const [named, refused, why] of lists) {
  test(`a list of ids is ${refused ? 'refused' : 'taken'}: ${why}`, () => {
    assert.equal(refuses(named), refused);
  });
}

const grants: [texts: string[], refused: boolean, why: string][] = [
  [ids(1_000), false, 'as many as can be'],
  [ids(1_001), true, 'one more'],
  [ids(1, 8_192), false, 'as long as can be'],
  [ids(1, 8_193), true, 'one letter more'],
  [ids(32, 8_192), false, 'as long together as can be'],
  [[...ids(32, 8_192), 'x'], true, 'one letter more'],
];

for (const [texts, refused, why] of grants) {
  test(`the grants of a role are ${refused ? 'refused' : 'taken'}: ${why}`, () => {
    assert.equal(faultOfGrantLengths(texts) !== undefined, refused);
  });
}

const totals: [present: number, added: number, removed: number, refused: boolean, why: string][] = [
  [9_999, 1, 0, false, 'as many as can be'],
  [10_000, 1, 0, true, 'one more'],
  [10_000, 2_000, 2_000, false, 'as many as are taken away'],
  [10_001, 0, 1, false, 'from before there was a limit, some taken away'],
  [12_000, 0, 0, false, 'from before there was a limit, the same again'],
];

for (const [present, added, removed, refused, why] of totals) {
  test(`links of one thing are ${refused ? 'refused' : 'taken'}: ${why}`, () => {
    const fault = faultOfTotal(present, { added: ids(added), removed: ids(removed) });
    assert.equal(fault !== undefined, refused);
  });
}
