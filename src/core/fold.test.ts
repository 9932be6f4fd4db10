import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldName } from './fold.ts';

const LETTERS = ['a', 'B', '-', '.', ' ', 'Σ', 'σ', 'ς', 'Α', 'İ', 'ı', 'ẞ', 'Ǆ', '𐐀', '\u0301'];

test('the beginning of a name folds to the beginning of what the name folds to', () => {
  for (const a of LETTERS) {
    for (const b of LETTERS) {
      for (const c of LETTERS) {
        const name = [a, b, c];
        const whole = foldName(name.join(''));
        for (let length = 0; length <= name.length; length++) {
          const start = foldName(name.slice(0, length).join(''));
          assert.ok(whole.startsWith(start), `${name.join('')} begins ${start}`);
        }
      }
    }
  }
});

test('every letter folds alone as it does after and before another', () => {
  for (let code = 0; code <= 0x1ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const letter = String.fromCodePoint(code);
    const alone = foldName(letter);
    if (foldName(`Α${letter}Α`) !== `α${alone}α` || foldName(`Α${letter}`) !== `α${alone}`) {
      assert.fail(`U+${code.toString(16)}`);
    }
  }
});

test('names of ASCII fold as they always did, and folding twice is folding once', () => {
  for (let code = 0; code < 0x80; code++) {
    const name = `A${String.fromCharCode(code)}z`;
    assert.equal(foldName(name), name.toLowerCase());
  }
  for (const letter of LETTERS) assert.equal(foldName(foldName(letter)), foldName(letter));
});

test('names that differ in more than case stay different', () => {
  assert.notEqual(foldName('ας'), foldName('ασ'));
  assert.notEqual(foldName('a'), foldName('á'));
});
