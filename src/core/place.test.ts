import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayHaveUser } from './place.ts';

const places: [text: string, mayHave: boolean][] = [
  ['https://ann:hunter2@h', true],
  ['https:ann:hunter2@h', true],
  ['https:/ann:hunter2@h', true],
  ['https:\\\\ann:hunter2@h', true],
  ['//ann:hunter2@h', true],
  ['ann@h', true],
  ['https://ann:hun ter2@h', true],
  ['https://ann:hunter2%40h', true],
  ['https://ann:hunter2\uff20h', true],
  ['https://h/x', false],
  ['https://h:80/x?y#z', false],
  ['no URL', false],
  ['', false],
  ['/var/log/gatehouse@1/records', false],
  ['https://h/%41', false],
];

for (const [text, mayHave] of places) {
  test(`${mayHave ? 'a user may be' : 'no user is'} in ${JSON.stringify(text)}`, () => {
    assert.equal(mayHaveUser(text), mayHave);
  });
}
