import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Expression, parseExpression } from './expression.ts';

/** The shape of an expression, with brackets around everything. */
function shapeOf(expression: Expression): string {
  switch (expression.kind) {
    case 'and':
    case 'or':
      return `(${shapeOf(expression.left)} ${expression.kind} ${shapeOf(expression.right)})`;
    case 'not':
      return `(not ${shapeOf(expression.of)})`;
    case 'any':
    case 'all':
      return `(${expression.kind} ${expression.selector.join('/')} as ${expression.names.join(',')} ${shapeOf(expression.of)})`;
    case 'test': {
      const value = expression.value === undefined ? '' : ` ${JSON.stringify(expression.value)}`;
      return `${expression.selector.join('/')} ${expression.operator}${value}`;
    }
  }
}

function read(text: string): string {
  const parsed = parseExpression(text);
  return parsed.valid ? shapeOf(parsed.expression) : `! ${parsed.because}`;
}

const shapes: [text: string, shape: string, why: string][] = [
  ['"/item/name" == "web"', 'item/name == "web"', 'a pointer'],
  ['item.name == web', 'item/name == "web"', 'dotted, and a bare word as value'],
  ['item.attributes["default_port"] == 22', 'item/attributes/default_port == "22"', 'an index'],
  ['"/item/a~1b" == "x"', 'item/a/b == "x"', 'an escaped slash (RFC 6901)'],
  ['"/item/a~0b" == "x"', 'item/a~b == "x"', 'an escaped tilde'],
  ['a == 1 or b == 2 and c == 3', '(a == "1" or (b == "2" and c == "3"))', '"and" binds tighter'],
  ['a == 1 and b == 2 or c == 3', '((a == "1" and b == "2") or c == "3")', 'on either side'],
  ['(a == 1 or b == 2) and c == 3', '((a == "1" or b == "2") and c == "3")', 'but brackets do'],
  ['not a == 1 and b == 2', '((not a == "1") and b == "2")', '"not" binds tightest'],
  ['not not a == 1', '(not (not a == "1"))', 'twice'],
  ['not (a == 1 and b == 2)', '(not (a == "1" and b == "2"))', 'before brackets'],
  ['"x" in "/item/list"', 'item/list contains "x"', 'membership, reversed'],
  ['x in item.list', 'item/list contains "x"', 'with a bare word'],
  ['"x" not in "/item/list"', 'item/list not contains "x"', 'negated'],
  ['a contains "x"', 'a contains "x"', 'contains'],
  ['a not contains "x"', 'a not contains "x"', 'not contains'],
  ['a matches "^x"', 'a matches "^x"', 'matches'],
  ['a not matches "^x"', 'a not matches "^x"', 'not matches'],
  ['a is empty', 'a is empty', 'is empty'],
  ['a is not empty', 'a is not empty', 'is not empty'],
  ['a is nil', 'a is nil', 'is nil'],
  ['a is not nil', 'a is not nil', 'is not nil'],
  ['a != "x"', 'a != "x"', 'not equal'],
  ['a == "x\\"y\\u0041"', 'a == "x\\"yA"', 'escapes'],
  ['a == `x\\y`', 'a == "x\\\\y"', 'a text in back quotes has none'],
  ['a == -1.5', 'a == "-1.5"', 'a number'],
  ['a==1', 'a == "1"', 'no blanks around symbols'],
  ['any item.tags as tag { tag == "x" }', '(any item/tags as tag tag == "x")', 'any'],
  ['all item.tags as k, v { v == "x" }', '(all item/tags as k,v v == "x")', 'all'],
  ['type == "bar"', 'type == "bar"', 'one word'],
];

for (const [text, shape, why] of shapes) {
  test(`filter ${text}: ${why}`, () => assert.equal(read(text), shape));
}

const faults: [text: string, because: RegExp, why: string][] = [
  ['', /ends at position 1/, 'nothing'],
  ['   ', /ends at position/, 'blanks'],
  ['bad expression', /"expression" stands at position 5/, 'two words'],
  ['"//id/"=="bad"', /"\/\/id\/" at position 1 is no selector/, 'trap 66: empty segments'],
  ['"item/name" == "x"', /no selector/, 'a pointer without its first slash'],
  ['"/item/na me" == "x"', /no selector/, 'a blank in a pointer'],
  ['a == ', /ends at position/, 'no value'],
  ['a = 1', /no match found at position 3/, 'one equal sign'],
  ['a == "x', /no match found/, 'an open quote'],
  ['a == "\\q"', /unknown escape/, 'an unknown escape'],
  ['(a == 1', /ends at position 8 where "\)" is expected/, 'an open bracket'],
  ['a == 1)', /"\)" stands at position 7/, 'a bracket too many'],
  ['a == 1 and', /ends at position/, 'nothing behind "and"'],
  ['and a == 1', /"and" stands at position 1/, 'nothing before'],
  ['a is', /ends .* where "empty" or "nil"/, 'half an operator'],
  ['a not 1', /"contains", "matches" or "in"/, 'not what'],
  ['a AND b == 1', /stands at position/, 'keywords are lower case'],
  ['a matches "["', /regular expression "\[" cannot be read/, 'no regular expression'],
  ['a matches "(?=x)"', /cannot be read/, 'RE2 looks neither ahead nor back'],
  ['a matches "(x)\\\\1"', /cannot be read/, 'nor does it refer back'],
  ['any item.tags { a == 1 }', /where "as" is expected/, 'any of what'],
  ['any item.tags as x, y, z { a == 1 }', /"," stands .* where "\{"/, 'three names'],
  ['any item.tags as and { a == 1 }', /where a name is expected/, 'a reserved name'],
];

for (const [text, because, why] of faults) {
  test(`no filter ${JSON.stringify(text)}: ${why}`, () => {
    const parsed = parseExpression(text);
    assert.equal(parsed.valid, false);
    assert.match(parsed.because, because);
  });
}

const limits: [within: string, beyond: string, because: RegExp][] = [
  [
    `${'('.repeat(40)}a == 1${')'.repeat(40)}`,
    `${'('.repeat(60)}a == 1${')'.repeat(60)}`,
    /deeper/,
  ],
  [`${'not '.repeat(40)}a == 1`, `${'not '.repeat(60)}a == 1`, /deeper/],
  [manyOf(400), manyOf(900), /more than 2000 parts/],
  [`a == "${'x'.repeat(9_000)}"`, `a == "${'x'.repeat(11_000)}"`, /longer than 10000/],
  [rounds(3), rounds(4), /more than 3 of "any" and "all"/],
];

function manyOf(tests: number): string {
  return Array.from({ length: tests }, () => 'a==1').join(' or ');
}

function rounds(nested: number): string {
  return `${'any a as x { '.repeat(nested)}x == 1${' }'.repeat(nested)}`;
}

for (const [within, beyond, because] of limits) {
  test(`a filter of ${within.length} characters is read, one of ${beyond.length} is not: ${because.source}`, () => {
    assert.ok(parseExpression(within).valid);
    const parsed = parseExpression(beyond);
    assert.equal(parsed.valid, false);
    assert.match(parsed.because, because);
  });
}

test('"any" and "all" side by side are not in each other', () => {
  assert.ok(parseExpression(Array.from({ length: 9 }, () => rounds(1)).join(' and ')).valid);
});

test('a regular expression that repeats repetitions is refused, or read at once', () => {
  for (const pattern of ['((x{100}){100}){100}', 'x{1001}', '(x*)*(y*)*z']) {
    const started = process.cpuUsage();
    parseExpression(`a matches "${pattern}"`);
    const { user, system } = process.cpuUsage(started);
    assert.ok(user + system < 1_000_000, pattern);
  }
});
