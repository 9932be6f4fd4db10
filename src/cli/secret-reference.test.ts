import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readReference } from './secret-reference.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return `file://${join(folder, name)}`;
};
const ENV = { SECRET: ' with blanks ', EMPTY: '' };

const read: [reference: string, secret: string][] = [
  ['env://SECRET', ' with blanks '],
  [file('plain', 'abc'), 'abc'],
  [file('line', 'abc\n'), 'abc'],
  [file('windows', 'abc\r\n'), 'abc'],
  [file('lines', 'a\nb\n\n'), 'a\nb\n'],
];
for (const [reference, secret] of read) {
  test(`a secret is read from ${reference.replace(folder, '')}`, () => {
    assert.equal(readReference('token', reference, ENV), secret);
  });
}

const refused: [reference: string, because: RegExp][] = [
  ['canary', /takes where it is, env:\/\/NAME or file:\/\/PATH, and not the secret itself/],
  ['at_canary', /not the secret itself/],
  ['env:canary', /not the secret itself/],
  ['https://canary', /not the secret itself/],
  ['env://', /not the secret itself/],
  ['env://EMPTY', /the variable "EMPTY" of flag -token is empty or not set/],
  ['env://MISSING', /the variable "MISSING"/],
  [file('empty', '\n'), /the file ".*" of flag -token is empty$/],
  [file('long', 'x'.repeat((1 << 20) + 1)), /too long/],
  ['file:///nonexistent', /cannot be read/],
  [`file://${folder}`, /cannot be read/],
];
for (const [reference, because] of refused) {
  test(`no secret is read from ${reference.replace(folder, '')}`, () => {
    assert.throws(
      () => readReference('token', reference, ENV),
      (error: Error) => because.test(error.message) && !/canary/.test(error.message),
    );
  });
}
