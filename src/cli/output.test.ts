import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonText, pairs, printable } from './output.ts';

const texts: [given: string, shown: string, why: string][] = [
  ['grüße\t漢\n', 'grüße\t漢\n', 'text, tabs and ends of lines'],
  ['a\u001b]52;c;eA==\u0007', 'a\\u001b]52;c;eA==\\u0007', 'the clipboard'],
  ['a\u009b6n', 'a\\u009b6n', 'a question by an upper control'],
  ['real\rfake', 'real\\u000dfake', 'a line that would be written over'],
  ['a\u007f\u0008', 'a\\u007f\\u0008', 'letters that would be taken away'],
];
for (const [given, shown, why] of texts) {
  test(`what a terminal would act on is told instead: ${why}`, () => {
    assert.equal(printable(given), shown);
    assert.equal(pairs([['Name', given]]), `Name  ${shown}`);
  });
}

test('JSON stays what it says, without a control in it', () => {
  const value = { name: 'a\u009b6n\u007f\u001b[c\n' };
  for (const indent of [undefined, 2]) {
    const text = jsonText(value, indent);
    assert.deepEqual(JSON.parse(text), value);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for.
    assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
  }
});
