import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../../../test/support/cpu-time.ts';
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
  ['"//id/"=="bad"', /"\/\/id\/" at position 1 is no selector/, 'empty segments'],
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

const pattern = (text: string): string => `a matches "${text.replaceAll('\\', '\\\\')}"`;

const sizes: [within: string, beyond: string, because: RegExp][] = [
  [pattern('x'.repeat(900)), pattern('x'.repeat(1001)), /longer than 1000 characters/],
  [pattern('x{900}'), pattern('x{1000}'), /too large: it repeats/],
  [pattern('(xy){200}'), pattern(`(${'xy'.repeat(450)}){900}`), /too large: it repeats/],
  [pattern('((x{5}){10}){10}'), pattern('((x{10}){10}){10}'), /too large: it repeats/],
  [pattern('\\pL{500}'), pattern('(\\pL){999}'), /too large: it repeats/],
  [pattern('\\pL'.repeat(15)), pattern('\\pL|'.repeat(25)), /too large: it repeats/],
  [pattern('(?i)[a-z]{20}'), pattern('(?i)[B-\\x{1e942}]'), /too large: it repeats/],
  [pattern('[B-\\x{1e942}]'), pattern('(?i)[B-\u{1e942}]'), /too large: it repeats/],
  [
    Array.from({ length: 35 }, () => pattern('^[a-z]{1,30}-prod$')).join(' or '),
    Array.from({ length: 70 }, () => pattern('^[a-z]{1,30}-prod$')).join(' or '),
    /too large together/,
  ],
  [`${'a.'.repeat(31)}a == 1`, `${'a.'.repeat(32)}a == 1`, /more than 32 names/],
  [`"${'/a'.repeat(32)}" == 1`, `"${'/a'.repeat(33)}" == 1`, /more than 32 names/],
];

for (const [within, beyond, because] of sizes) {
  test(`a filter ${within.slice(0, 40)} is read, ${beyond.slice(0, 40)} is not: ${because.source}`, () => {
    const taken = parseExpression(within);
    assert.ok(taken.valid, 'because' in taken ? taken.because : '');
    const parsed = parseExpression(beyond);
    assert.equal(parsed.valid, false);
    assert.match(parsed.because, because);
  });
}

/** What people write. */
const USUAL = [
  '^prod-[a-z0-9-]+$',
  '(?i)^web',
  '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
  '^(?:(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)\\.){3}(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)$',
  '^(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}$',
  '^[\\p{L}\\p{N} _.-]{1,6}',
  '^(eu|us|ap)-(north|south|east|west|central)-[1-9]$',
  '^[A-Za-z0-9.!#$%&*+/=?^_{|}~-]{1,64}@[A-Za-z0-9.-]{1,253}$',
];

for (const text of USUAL) {
  test(`a filter with ${text} is read`, () => {
    const parsed = parseExpression(pattern(text));
    assert.ok(parsed.valid, 'because' in parsed ? parsed.because : '');
  });
}

const LONG = 9_900;
const hostile: [why: string, filter: string][] = [
  ['repetitions of repetitions', pattern('((x{100}){100}){100}')],
  ['a repetition of a long text', pattern(`(${'a'.repeat(990)}){1000}`)],
  [
    'seven of them',
    Array.from({ length: 7 }, () => pattern(`(${'a'.repeat(900)}){9}`)).join(' or '),
  ],
  ['stars of stars', pattern('(x*)*(y*)*z')],
  ['classes', Array.from({ length: 40 }, () => pattern('\\pL|'.repeat(40))).join(' or ')],
  ['ranges in either case', pattern(`(?i)[${'B-\\x{1e942}'.repeat(80)}]`)],
  ['ranges of letters in either case', pattern(`(?i)[${'B-\u{1e942}'.repeat(240)}]`)],
  ['brackets', pattern(`${'('.repeat(490)}${')'.repeat(490)}`)],
  ['open brackets', pattern('('.repeat(990))],
  ['names that do not end', pattern('(?P<'.repeat(240))],
  ['classes that do not end', pattern('[[:'.repeat(330))],
  ['escapes that do not end', pattern('\\p{'.repeat(330))],
  ['quotes within patterns', pattern('\\Q'.repeat(490))],
  ['alternatives', pattern('|'.repeat(990))],
  ['a text that does not end', `a == "${'\\\\'.repeat(LONG / 2)}`],
  ['a back quote that does not end', `a == \`${'x'.repeat(LONG)}`],
  ['a number that is none', `a == ${'1'.repeat(LONG)}x`],
  ['blanks', ' '.repeat(LONG)],
  ['words', 'a '.repeat(LONG / 2)],
  ['"not"', 'not '.repeat(LONG / 4)],
  ['open brackets of the filter', '('.repeat(LONG)],
  ['steps of a pointer', `"${'/a'.repeat(LONG / 2)}" == 1`],
  ['steps of a selector', `a${'["b"]'.repeat(LONG / 5)} == 1`],
  ['comparisons', Array.from({ length: 499 }, () => 'a==1').join(' or ')],
  ['a megabyte', 'a == 1 or '.repeat(100_000)],
];

for (const [why, filter] of hostile) {
  test(`a filter is read, or refused, within a fiftieth of a second or so: ${why}`, async () => {
    await spendsAtMost(60, () => void parseExpression(filter));
  });
}
