import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTokenRole, type TokenRole, tokenRoleSchema } from './role.ts';

const LISTS = [
  'allowed_policies',
  'disallowed_policies',
  'allowed_policies_glob',
  'disallowed_policies_glob',
] as const;

/** As clients send them. */
const values: [sent: string | string[], accepted: boolean, why: string][] = [
  [[], true, 'no list'],
  ['', true, 'no list, as a text'],
  [['ci'], true, 'a name'],
  [['', 'ci'], true, 'a name beside a blank'],
  ['ci,', true, 'a name and a comma'],
  [[''], false, 'an empty name'],
  [[' ', '\t'], false, 'blanks'],
  [',', false, 'a comma alone'],
];

for (const field of LISTS) {
  for (const [sent, accepted, why] of values) {
    test(`${field} of a token role ${accepted ? 'may' : 'may not'} be ${why}`, () => {
      const role: TokenRole = tokenRoleSchema.parse({ [field]: sent });
      const check = () => checkTokenRole(role);
      if (accepted) assert.doesNotThrow(check);
      else assert.throws(check, { kind: 'invalid', message: new RegExp(`^${field}: `) });
    });
  }
}
