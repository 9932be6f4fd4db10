import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../core/failure.ts';
import { checkSeed, SEED_DEFAULTS, type SeedSettings, secondSuffix } from './seed.ts';

const cases: [change: Partial<SeedSettings>, refused: RegExp | undefined, why: string][] = [
  [{}, undefined, 'what is made unless told otherwise'],
  [{ id_suffix: 'AbCdEf0123' }, undefined, 'letters of both cases and digits'],
  [{ id_suffix: '123456789' }, /-id-suffix/, 'nine characters'],
  [{ id_suffix: '12345678901' }, /-id-suffix/, 'eleven characters'],
  [{ id_suffix: '12345-7890' }, /-id-suffix/, 'a hyphen'],
  [{ id_suffix: '' }, /-id-suffix/, 'none'],
  [{ id_suffix: '1234554321' }, /backwards/, 'the same read backwards: ids would clash'],
  [{ login_name: 'ab' }, /-login-name/, 'a log-in name that is too short'],
  [{ login_name: 'Admin' }, /-login-name/, 'a capital letter'],
  [{ password: 'secret7' }, / -password/, 'seven characters'],
  [{ password: 'secret78' }, undefined, 'eight characters'],
  [{ unprivileged_login_name: '' }, undefined, 'no plain user'],
  [{ unprivileged_login_name: '', unprivileged_password: '' }, undefined, 'nor their password'],
  [{ unprivileged_password: '' }, /-unprivileged-password/, 'a plain user without a password'],
  [{ unprivileged_login_name: 'admin' }, /different/, 'both under one name'],
];

for (const [change, refused, why] of cases) {
  test(`seed with ${JSON.stringify(change)}: ${why}`, () => {
    const settings = { ...SEED_DEFAULTS, ...change };
    if (refused === undefined) assert.deepEqual(checkSeed(settings), settings);
    else {
      assert.throws(
        () => checkSeed(settings),
        (error) => error instanceof Failure && refused.test(error.message),
      );
    }
  });
}

test('the second of two things has the suffix read backwards', () => {
  assert.equal(secondSuffix('1234567890'), '0987654321');
});
