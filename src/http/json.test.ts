import assert from 'node:assert/strict';
import test from 'node:test';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import { Failure } from '../core/failure.ts';
import { looksLikeJson, parseFormBody, parseJsonBody, readQuery } from './json.ts';

function refuses(read: () => unknown, message: RegExp): void {
  assert.throws(read, (error) => {
    assert.ok(error instanceof Failure);
    assert.equal(error.kind, 'invalid');
    assert.match(error.message, message);
    return true;
  });
}

/** Members of one object, no two of the same name. */
function manyKeys(count: number): string {
  return Array.from({ length: count }, (_, at) => `"k${at}":0`).join();
}

const accepted: [text: string, expected: unknown, rule: string][] = [
  ['', {}, 'an empty body has no fields'],
  [' \r\n\t', {}, 'nor has white space'],
  ['{}', {}, 'an empty object'],
  [' {"a" : 1 } \n', { a: 1 }, 'white space around'],
  [
    '{"a":{"a":1},"b":[{"a":1},{"a":2}]}',
    { a: { a: 1 }, b: [{ a: 1 }, { a: 2 }] },
    'a key again in another object',
  ],
  ['{"a":"a\\":\\\\","b":2}', { a: 'a":\\', b: 2 }, 'quotes, colons and backslashes in a string'],
  ['{"a":"{[,:"}', { a: '{[,:' }, 'brackets in a string'],
  ['{"A":1,"a":2}', { A: 1, a: 2 }, 'keys have case'],
  ['{"\\ud83d\\ude00":"\\u00e9"}', { '😀': 'é' }, 'escapes'],
  ['{"constructor":"x","prototype":1}', { constructor: 'x', prototype: 1 }, 'harmless names'],
  ['{"constructor":{"x":1}}', { constructor: { x: 1 } }, 'a constructor without prototype'],
  ['{"proto":1,"__proto":2}', { proto: 1, __proto: 2 }, 'look-alikes'],
  [
    '{"a":null,"b":true,"c":-1.5e3,"d":[]}',
    { a: null, b: true, c: -1500, d: [] },
    'all kinds of values',
  ],
];
for (const [text, expected, rule] of accepted) {
  test(`${rule}: ${JSON.stringify(text)}`, () => {
    assert.deepEqual(parseJsonBody(text), expected);
    assert.deepEqual(parseJsonBody(new TextEncoder().encode(text)), expected);
  });
}

const refused: [text: string, message: RegExp, rule: string][] = [
  ['[]', /must be a JSON object/, 'an array'],
  ['null,', /must be a JSON object/, 'null and more'],
  ['"a"', /must be a JSON object/, 'a string'],
  ['1', /must be a JSON object/, 'a number'],
  ['ttl=1h', /must be a JSON object/, 'a form'],
  ['\ufeff{}', /must be a JSON object/, 'a byte order mark'],
  ['{', /^failed to parse JSON input: line 1, column 2: expected a key/, 'an open object'],
  ['{"a"}', /column 5: expected ":"/, 'a key without a value'],
  ['{"a":}', /column 6: expected a value/, 'a colon without a value'],
  ['{"a":1,}', /column 8: expected a key/, 'a last comma'],
  ['{"a":1 "b":2}', /column 8: expected "," or "}"/, 'a missing comma'],
  ["{'a':1}", /expected a key in double quotes/, 'single quotes'],
  ['{a:1}', /expected a key in double quotes/, 'a bare key'],
  ['{"a":01}', /expected a value/, 'a leading zero'],
  ['{"a":+1}', /expected a value/, 'a plus sign'],
  ['{"a":NaN}', /expected a value/, 'no number'],
  ['{"a":tru}', /expected a value/, 'nearly a bool'],
  ['{"a":1}{}', /expected nothing after the object/, 'a second object'],
  ['{"a":1} x', /expected nothing after the object/, 'text after the object'],
  ['{"a":1}]', /expected nothing after the object/, 'a bracket after the object'],
  ['{"a":1 // x\n}', /expected "," or "}"/, 'a comment'],
  ['{\n "a":\n  ?}', /line 3, column 3: expected a value/, 'the place counts lines'],
  ['{"a":"b', /a string does not end/, 'an open string'],
  ['{"a":"b\\"}', /a string does not end/, 'a string whose quote is escaped'],
  ['{"a":"\\x"}', /unknown escape/, 'an unknown escape'],
  ['{"a":"\\u12"}', /unknown escape/, 'a short escape'],
  ['{"a":"\n"}', /control character/, 'a line break in a string'],
  ['{"a":"\\ud800"}', /not valid Unicode/, 'half of a character'],
  ['{"\\ud800":1}', /a key is not valid Unicode/, 'half of a character in a key'],
  ['{"a":1e999}', /a number is too large/, 'a number without bounds'],
  ['{"a":1,"a":2}', /the key "a" is given twice \(line 1, column 8\)/, 'a key twice'],
  ['{"a":1,"b":{"c":1,"c":1}}', /the key "c" is given twice/, 'a key twice inside'],
  ['{"x":[1,{"c":1,"d":2,"c":1}]}', /the key "c" is given twice/, 'a key twice in a list'],
  ['{"a":1,"\\u0061":2}', /the key "a" is given twice/, 'a key twice, once as an escape'],
  ['{"":1,"":2}', /the key "" is given twice/, 'the empty key twice'],
  ['{"1":1,"1":2}', /the key "1" is given twice/, 'a number as a key twice'],
  ['{"__proto__":{"x":1}}', /the key "__proto__" is not accepted/, 'the prototype'],
  ['{"__proto__":null}', /the key "__proto__" is not accepted/, 'no prototype'],
  ['{"a":[{"__proto__":1}]}', /the key "__proto__" is not accepted/, 'the prototype inside'],
  ['{"\\u005f_proto__":1}', /the key "__proto__" is not accepted/, 'the prototype as an escape'],
  ['{"__proto__":1,"__proto__":2}', /__proto__/, 'the prototype twice'],
  [
    '{"constructor":{"prototype":{"x":1}}}',
    /"constructor" and "prototype" are not accepted/,
    'the other way to it',
  ],
  [`{"a":${'['.repeat(32)}${']'.repeat(32)}}`, /more than 32 objects and arrays/, 'one too deep'],
  ['['.repeat(1_000_000), /must be a JSON object/, 'a bomb of brackets'],
  [`{"a":${'['.repeat(1_000_000)}`, /more than 32/, 'a bomb in an object'],
  [`${'{"a":'.repeat(1_000_000)}`, /more than 32/, 'a bomb of objects'],
  [
    `{"a":1}${']'.repeat(50)}${'['.repeat(60)}`,
    /expected nothing after/,
    'brackets that never opened',
  ],
  [`{"a":[${'0,'.repeat(100_001)}0]}`, /more than 100000 values/, 'too many values'],
  [`{${manyKeys(10_001)}}`, /more than 10000 members/, 'too many keys'],
  [
    `{"a":[${`{${manyKeys(100)}},`.repeat(101)}0]}`,
    /more than 10000 members/,
    'keys in many objects',
  ],
];
for (const [text, message, rule] of refused) {
  test(`refused, ${rule}: ${JSON.stringify(text.slice(0, 40))}`, () => {
    refuses(() => parseJsonBody(text), message);
    refuses(() => parseJsonBody(new TextEncoder().encode(text)), /./);
  });
}

test('as many members as may be are read', () => {
  assert.equal(Object.keys(parseJsonBody(`{${manyKeys(10_000)}}`)).length, 10_000);
});

test('as deep as may be is read', () => {
  assert.doesNotThrow(() => parseJsonBody(`{"a":${'['.repeat(31)}${']'.repeat(31)}}`));
  refuses(() => parseJsonBody('{"a":[]}', { maxDepth: 1 }), /more than 1 objects/);
});

const NOT_UTF8: [name: string, bytes: number[]][] = [
  ['a lone continuation', [0x80]],
  ['an overlong slash', [0xc0, 0xaf]],
  ['a surrogate', [0xed, 0xa0, 0x80]],
  ['an end too early', [0xe2, 0x82]],
  ['beyond Unicode', [0xf4, 0x90, 0x80, 0x80]],
];
for (const [name, bytes] of NOT_UTF8) {
  test(`bytes that are not UTF-8 are refused: ${name}`, () => {
    const body = Uint8Array.from([...Buffer.from('{"a":"'), ...bytes, ...Buffer.from('"}')]);
    refuses(() => parseJsonBody(body), /not valid UTF-8/);
    refuses(() => parseFormBody(Uint8Array.from([0x61, 0x3d, ...bytes])), /not valid UTF-8/);
  });
}

test('no refusal quotes a value', () => {
  for (const text of [
    '{"password":"hunter2"',
    '{"password":hunter2}',
    '{"password":"hunter2" x}',
    '{"password":"hunter2","password":"hunter2"}',
    'password=hunter2',
    '"hunter2"',
    '{"password":"hunter2\\q"}',
  ]) {
    assert.throws(
      () => parseJsonBody(text),
      (error) => !String(error).includes('hunter'),
    );
  }
});

test('a part of a larger buffer is read alone', () => {
  const whole = Buffer.from('xx{"a":1}yy');
  assert.deepEqual(parseJsonBody(whole.subarray(2, 9)), { a: 1 });
});

const floods: [name: string, text: string][] = [
  ['backslashes', `{"a":"${'\\\\'.repeat(1_000_000)}"}`],
  ['escaped quotes', `{"a":"${'\\"'.repeat(1_000_000)}"}`],
  ['backslashes without an end', `{"a":"${'\\\\'.repeat(1_000_000)}`],
  ['white space', ' '.repeat(4_000_000)],
  ['keys given twice', `{${'"a":1,'.repeat(150_000)}"a":1}`],
  ['open strings', '{"a":"'.repeat(300_000)],
];
for (const [name, text] of floods) {
  test(`megabytes of ${name} are read or refused in time that does not explode`, async () => {
    await spendsAtMost(2000, () => {
      try {
        parseJsonBody(text);
      } catch (error) {
        assert.ok(error instanceof Failure);
      }
    });
  });
}

const forms: [text: string, expected: Record<string, unknown>, rule: string][] = [
  ['', {}, 'an empty form'],
  ['ttl=1h&common_name=a.test', { ttl: '1h', common_name: 'a.test' }, 'fields'],
  ['a=b+c%2Bd', { a: 'b c+d' }, 'a plus is a space'],
  ['a=1&a=2&a=3', { a: ['1', '2', '3'] }, 'a name again makes a list'],
  ['a&b=&&c=x=y', { a: '', b: '', c: 'x=y' }, 'missing parts'],
  ['toString=1', { toString: '1' }, 'a name that objects inherit'],
  ['%C3%A9=%F0%9F%98%80', { é: '😀' }, 'UTF-8'],
];
for (const [text, expected, rule] of forms) {
  test(`a form, ${rule}: ${text}`, () => {
    assert.deepEqual(parseFormBody(text), expected);
    assert.deepEqual(parseFormBody(new TextEncoder().encode(text)), expected);
  });
}

test('what a form takes is told before it is read, by its fields', () => {
  const told: number[] = [];
  parseFormBody('a=1&b=2&c=3', (bytes) => told.push(bytes));
  parseFormBody('a=1', (bytes) => told.push(bytes));
  const [three = 0, one = 0] = told;
  assert.ok(one > 100);
  assert.equal(three, 3 * one);
  const refused = new Error('no room');
  const refuse = (): void => {
    throw refused;
  };
  assert.throws(() => parseFormBody('a=%', refuse), refused);
});

const badForms: [text: string, message: RegExp][] = [
  ['a=%', /percent-encoding/],
  ['a=%ff', /percent-encoding/],
  ['%zz=1', /percent-encoding/],
  ['__proto__=1', /"__proto__" is not accepted/],
  ['%5f_proto__=1', /"__proto__" is not accepted/],
  ['a&'.repeat(1001), /more than 1000 fields/],
];
for (const [text, message] of badForms) {
  test(`a form refused: ${text.slice(0, 20)}`, () => refuses(() => parseFormBody(text), message));
}

const BEGINNINGS: [text: string, isJson: boolean, rule: string][] = [
  ['{"a":1}', true, 'an object'],
  ['[1]', true, 'a list, which is refused as one'],
  [' {"a":1}', true, 'after a blank'],
  ['\t\r\n {"a":1}', true, 'after a tab and ends of lines'],
  ['\ufeff{"a":1}', true, 'after a byte order mark'],
  ['\u000b\u00a0\u2028\u0000{"a":1}', true, 'after white space that JSON does not have'],
  [`${' '.repeat(2000)}a=1`, true, 'after more blanks than are looked at'],
  ['', false, 'nothing'],
  ['  ', false, 'nothing but blanks'],
  ['a=1', false, 'a form'],
  [' a={', false, 'a form with a bracket in it'],
  ['%7B"a":1}', false, 'an encoded bracket is a name'],
  ['é=1', false, 'a letter beyond ASCII'],
];
for (const [text, isJson, rule] of BEGINNINGS) {
  test(`a body that says it is a form ${isJson ? 'begins' : 'does not begin'} as JSON does: ${rule}`, () => {
    assert.equal(looksLikeJson(new TextEncoder().encode(text)), isJson);
  });
}

test('a query is read as a form is: a name again makes a list, and says nothing of prototypes', () => {
  const read = (query: string) => readQuery(new URLSearchParams(query));
  assert.deepEqual(read('a=1&b=2&a=3&list=true'), { a: ['1', '3'], b: '2' });
  assert.deepEqual(read('toString=1&constructor=2'), { toString: '1', constructor: '2' });
  refuses(() => read('__proto__=1'), /"__proto__" is not accepted/);
});
