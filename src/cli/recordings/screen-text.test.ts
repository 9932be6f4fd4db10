import assert from 'node:assert/strict';
import { test } from 'node:test';
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
  ['a\x1b[?2004hb', 'a\x1b[?2004hb', 'a mode'],
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

test('a sequence without end is let go of, and takes no time', () => {
  const text = new ScreenText();
  const began = performance.now();
  for (let at = 0; at < 20_000; at += 1) text.take('\x1b[1;1;1;1;1;1;1;1;1;1');
  assert.ok(performance.now() - began < 2_000);
  assert.equal(new ScreenText().take(`${'\x1b[1'.padEnd(400, ';')}`), '');
});
