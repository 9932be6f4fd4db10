import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../../test/support/cpu-time.ts';
import { ScreenText } from './screen-text.ts';

const texts: [given: string, shown: string, why: string][] = [
  ['plain grüße\r\n\t', 'plain grüße\r\n\t', 'text and its controls'],
  ['\x1b[1;31mred\x1b[0m', '\x1b[1;31mred\x1b[0m', 'colours'],
  ['\x1b[2J\x1b[10;5H\x1b[K', '\x1b[2J\x1b[10;5H\x1b[K', 'places on the screen'],
  ['\x1b[?1049h\x1b[?25l', '\x1b[?1049h\x1b[?25l', 'the other screen, the cursor'],
  ['\x1b(B\x1b7\x1b8\x1bM', '\x1b(B\x1b7\x1b8\x1bM', 'letters, a kept place, a line back'],
  ['a\x1b]0;title\x07b', 'ab', 'a title'],
  ['a\x1b]52;c;ZWNobw==\x1b\\b', 'ab', 'the clipboard'],
  ['a\x1bP$q"p\x1b\\b', 'ab', 'a question in a string'],
  ['a\x1b_x\x1b\\b\x1b^y\x07c', 'abc', 'strings for programs'],
  ['a\x1b[cb\x1b[>0cd', 'abd', 'who are you'],
  ['a\x1b[6nb\x1b[?6nc', 'abc', 'where are you'],
  ['a\x1b[21tb\x1b[8;10;10tc', 'abc', 'the window'],
  ['a\x1b[?2026$pb', 'ab', 'a question about a mode'],
  ['a\x1b[?2026hb', 'a\x1b[?2026hb', 'a mode of the screen'],
  ['a\x1b[?2004hb\x1b[?1000hc\x1b[?1hd', 'abcd', 'modes of keys and of the mouse'],
  ['a\x1b[?1049;1006;25hb', 'a\x1b[?1049;25hb', 'a mode of the mouse among those of the screen'],
  ['a\x1b[4hb\x1b[2hc', 'a\x1b[4hbc', 'insertion, and the keyboard locked'],
  ['a\x1b[>qb\x1b[>0qc', 'abc', 'which terminal is it'],
  ['a\x1b[2 qb', 'a\x1b[2 qb', 'the form of the cursor'],
  ['a\x1b[?ub\x1b[>1uc', 'abc', 'what do its keys say'],
  ['a\x1b[?4mb\x1b[>4;2mc', 'abc', 'the same, and have them say more'],
  ['a\x1b[?1;1;0Sb\x1b[#Rc', 'abc', 'how large are its pictures, which colours has it'],
  ['a\x1b[2Sb\x1b[2Tc\x1b[1;2;3;4;5Td', 'a\x1b[2Sb\x1b[2Tcd', 'scrolling, and following the mouse'],
  ['a\x1b[5ib\x1b[ic', 'abc', 'printing'],
  ['a\x05b\x00c\x7fd', 'abcd', 'who are you in one character'],
  ['a\x1b%@b\x1b Gc\x1b=d', 'abcd', 'other characters, and another keypad'],
  ['a\x1b[\n6nb', 'a6nb', 'a line amid a question'],
  ['a\x1b\x1b[6nb', 'a[6nb', 'an escape before a question'],
  ['a\x1bXhidden\x18shown', 'ashown', 'a string that is given up'],
  ['a\x1b]0;hidden\x1ashown', 'ashown', 'the same by another character'],
  ['a\x1bZb', 'ab', 'who are you, of old'],
  ['a\u009b6nb\u009d0;x\u009c', 'a6nb0;x', 'controls of the upper half'],
  ['a\x1b]0;x\x1b[31mb', 'a\x1b[31mb', 'a string that a sequence breaks off'],
  ['a\x1b[31', 'a', 'what is never finished'],
];

for (const [given, shown, why] of texts) {
  test(`a terminal is given ${JSON.stringify(shown)}: ${why}`, () => {
    assert.equal(new ScreenText().take(given), shown);
  });
  test(`the same, a character at a time: ${why}`, () => {
    const text = new ScreenText();
    assert.equal(Array.from(given, (one) => text.take(one)).join(''), shown);
  });
}

test('a sequence without end is let go of, and takes no time', async () => {
  await spendsAtMost(500, () => {
    const text = new ScreenText();
    for (let at = 0; at < 20_000; at += 1) text.take('\x1b[1;1;1;1;1;1;1;1;1;1');
  });
  assert.equal(new ScreenText().take(`${'\x1b[1'.padEnd(400, ';')}`), '');
});
