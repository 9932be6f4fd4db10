import assert from 'node:assert/strict';
import test from 'node:test';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import { Failure } from '../core/failure.ts';
import { parseHcl } from './hcl.ts';
import { type HclNode, placeOf } from './hcl-tree.ts';

/** A node as plain data; an object as a list of `[key, ...labels, value]`. */
function plain(node: HclNode): unknown {
  switch (node.kind) {
    case 'null':
      return null;
    case 'list':
      return node.items.map(plain);
    case 'object':
      return node.items.map(({ key, labels, value }) => [key, ...labels, plain(value)]);
    default:
      return node.value;
  }
}

const accepted: [text: string, expected: unknown, rule: string][] = [
  ['', [], 'an empty text is an object without items'],
  ['a = 1', [['a', 1]], 'an attribute'],
  ['a = -1.5e3', [['a', -1500]], 'a number with sign, fraction and exponent'],
  ['a = 0x1F', [['a', 31]], 'a hexadecimal number'],
  [
    'a = true b = false',
    [
      ['a', true],
      ['b', false],
    ],
    'items need nothing between them',
  ],
  [
    'a = 1, b = 2',
    [
      ['a', 1],
      ['b', 2],
    ],
    'a comma may stand between items',
  ],
  ['"a b" = "c"', [['a b', 'c']], 'a key may be a string'],
  ['a { b = 1 }', [['a', [['b', 1]]]], 'a block'],
  ['a = { b = 1 }', [['a', [['b', 1]]]], 'a map'],
  ['path "x/*" { }', [['path', 'x/*', []]], 'a block with a label'],
  ['a "b" "c" {}', [['a', 'b', 'c', []]], 'a block with two labels'],
  ['a = ["b", 1, [true],]', [['a', ['b', 1, [true]]]], 'a list, its last comma too many'],
  ['a = []', [['a', []]], 'an empty list'],
  ['# one\n// two\n/* three\n */ a /* x */ = /* y */ 1 # z', [['a', 1]], 'all three comments'],
  ['a = "# // /* "', [['a', '# // /* ']], 'a comment sign in a string is text'],
  [
    'a = "\\" \\\\ \\n \\t \\x41 \\101 \\u00e9 \\U0001F600"',
    [['a', '" \\ \n \t A A é 😀']],
    'escapes',
  ],
  [`a = "\${b}"`, [['a', `\${b}`]], 'there is no interpolation'],
  ['a = <<EOF\none\n two\nEOF\n', [['a', 'one\n two\n']], 'a heredoc'],
  [
    'a = <<-EOF\n    one\n      two\n    EOF\nb = 1',
    [
      ['a', 'one\n  two\n'],
      ['b', 1],
    ],
    'a heredoc loses its indentation',
  ],
  ['a = [<<EOF\nx\nEOF\n, 1]', [['a', ['x\n', 1]]], 'a heredoc in a list'],
  ['__proto__ = 1', [['__proto__', 1]], 'any name is a name, for there is no prototype to reach'],
  [
    'a = 1 a = 2',
    [
      ['a', 1],
      ['a', 2],
    ],
    'a key given twice is kept twice',
  ],
  ['{}', [], 'an empty JSON object'],
  [' {"a": [1, "b", null, {"c": true}]} ', [['a', [1, 'b', null, [['c', true]]]]], 'JSON'],
  ['{"a": "\\u00e9\\/\\ud83d\\ude00"}', [['a', 'é/😀']], 'JSON escapes, surrogate pairs joined'],
  [
    '{"a":1,"a":2}',
    [
      ['a', 1],
      ['a', 2],
    ],
    'a JSON key given twice is kept twice',
  ],
];

for (const [text, expected, rule] of accepted) {
  test(`${rule}: ${JSON.stringify(text)}`, () => {
    assert.deepEqual(plain(parseHcl(text)), expected);
  });
}

const refused: [text: string, message: RegExp, rule: string][] = [
  ['a', /^1:2: expected "=" or "{" after "a", found the end of the text$/, 'a key alone'],
  ['a = ', /^1:5: expected a string/, 'no value'],
  ['a = b', /^1:5: .*found b$/, 'a word that is no bool'],
  ['a = tru', /found tru$/, 'nearly a bool'],
  ['\n\n  a : 1', /^3:5: expected "=" or "{"/, 'a colon outside JSON'],
  ['a "b" = 1', /^1:7: expected "{" after "a"/, 'a label and an equals sign'],
  ['a {', /expected "}" before the end/, 'an open block'],
  ['a }', /expected "=" or "{"/, 'a closing brace alone'],
  ['}', /expected a key, found "}"/, 'a closing brace at the top'],
  ['a = [1 2]', /^1:8: expected "," or "]"/, 'a list without a comma'],
  ['a = [,]', /expected a string/, 'a list of a comma'],
  ['a = [1', /expected "," or "]"/, 'an open list'],
  ['a = "b', /^1:5: a string begins here and does not end/, 'an open string'],
  ['a = "b\n"', /a string begins here and does not end/, 'a string over two lines'],
  ['a = "\\q"', /^1:6: unknown escape/, 'an unknown escape'],
  ['a = "\\ud800"', /not valid Unicode/, 'half of a character'],
  ['a = "\\xff"', /unknown escape/, 'a byte that is no character'],
  ['a = "\\U00110000"', /unknown escape/, 'beyond Unicode'],
  ['a = "\u0000"', /control character/, 'NUL in a string'],
  ['a = \u0000', /found "\\u0000"/, 'NUL outside a string'],
  ['a = 01', /expected a string/, 'a leading zero, which some read as octal'],
  ['a = 1.', /expected a string/, 'a number without its fraction'],
  ['a = 1x', /expected a string/, 'a number with a tail'],
  ['a = 1e999', /the number is too large/, 'a number without bounds'],
  ['a = 1 /* x', /^1:7: a comment begins here/, 'an open comment'],
  ['a = <<EOF\nx\n', /^1:5: a heredoc begins here and "EOF" does not end it/, 'an open heredoc'],
  ['a = <<EOF x\nEOF', /expected "<<" and a word/, 'text after the heredoc word'],
  ['{"a": 1', /expected "," or "}"/, 'an open JSON object'],
  ['{"a": 1,}', /expected a key in double quotes/, 'a last comma in JSON'],
  ['{"a": [1,]}', /expected a JSON value/, 'a last comma in a JSON list'],
  ['{"a" = 1}', /expected ":"/, 'an equals sign in JSON'],
  ['{a: 1}', /expected a key in double quotes/, 'a bare key in JSON'],
  ['{"a": 1} x', /expected nothing after/, 'text after JSON'],
  ['{"a": 0x1}', /expected a JSON value/, 'hexadecimal in JSON'],
  ['{"a": "\\x41"}', /unknown escape/, 'an HCL escape in JSON'],
  ['{ # x\n}', /expected a key/, 'a comment in JSON'],
  [`a = ${'['.repeat(17)}`, /more than 16 lists/, 'too deep'],
  [`{"a":${'['.repeat(16)}`, /more than 16 lists/, 'too deep in JSON'],
  [`${'a {'.repeat(17)}`, /more than 16 lists/, 'too many blocks inside one another'],
  ['x'.repeat(1_048_577), /at most 1048576 are read/, 'too long'],
];

for (const [text, message, rule] of refused) {
  test(`refused, ${rule}: ${JSON.stringify(text.slice(0, 40))}`, () => {
    assert.throws(
      () => parseHcl(text),
      (error) =>
        error instanceof Failure && error.kind === 'invalid' && message.test(error.message),
    );
  });
}

test('sixteen lists inside one another are read', () => {
  assert.doesNotThrow(() => parseHcl(`a = ${'['.repeat(16)}${']'.repeat(16)}`));
});

test('a place counts lines and columns from one', () => {
  assert.equal(placeOf('ab\ncd', 0), '1:1');
  assert.equal(placeOf('ab\ncd', 2), '1:3');
  assert.equal(placeOf('ab\ncd', 4), '2:2');
});

const floods: [name: string, text: string][] = [
  ['open comments', '/*'.repeat(400_000)],
  ['comments', '/**/'.repeat(250_000)],
  ['escapes', `a = "${'\\n'.repeat(400_000)}`],
  ['labels', 'a '.repeat(400_000)],
  ['heredocs that never end', '<<A\n'.repeat(200_000)],
  ['items', 'a=1 '.repeat(250_000)],
  ['lines in a heredoc', `a = <<A\n${'\n'.repeat(900_000)}`],
];
for (const [name, text] of floods) {
  test(`a megabyte of ${name} is read or refused in time that does not explode`, async () => {
    await spendsAtMost(3000, () => {
      try {
        parseHcl(text);
      } catch (error) {
        assert.ok(error instanceof Failure);
      }
    });
  });
}
