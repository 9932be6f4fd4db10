import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../../test/support/cpu-time.ts';
import { makeCsr } from '../../../test/support/leaves.ts';
import { Failure } from '../../core/failure.ts';
import { subjectAltName } from '../../x509/extensions.ts';
import { type CelVerdict, evaluateProgram } from './evaluate.ts';
import { programField } from './program.ts';

const NOW = Date.UTC(2030, 0, 31, 12);
const REQUEST = {
  common_name: 'a.example.com',
  ttl: '1h',
  key_bits: 256,
  ratio: 0.5,
  names: ['a.test', 'b.test'],
  deep: { of: [{ a: null }] },
};

function ask(
  expression: string,
  variables: readonly string[] = [],
  request: object = REQUEST,
): CelVerdict {
  return evaluateProgram({
    program: {
      variables: variables.map((one, at) => ({ name: `v${at}`, expression: one })),
      expression,
    },
    request: { ...request },
    now: NOW,
    use_csr: false,
    identity: { id: 'e1', name: 'ann', metadata: { team: 'blue' }, aliases: {} },
    groups: [{ id: 'g1', name: 'issuers' }],
  });
}

const TRUE: readonly [expression: string, nearMiss: string][] = [
  ['request.common_name.endsWith(".example.com")', 'request.common_name.endsWith("xexample.com")'],
  ['request.common_name == "a.example.com"', 'request.common_name == "A.example.com"'],
  ['has(request.ttl)', 'has(request.not_after)'],
  ['duration(request.ttl) < duration("61m")', 'duration(request.ttl) < duration("60m")'],
  ['now < timestamp("2030-01-31T12:00:01Z")', 'now < timestamp("2030-01-31T12:00:00Z")'],
  ['now.getFullYear() == 2030', 'now.getFullYear() == 2029'],
  ['"a.test" in request.names', '"A.test" in request.names'],
  ['request.names.all(n, n.endsWith(".test"))', 'request.names.all(n, n.startsWith("a"))'],
  ['request.names.exists(n, n == "b.test")', 'request.names.exists(n, n == "c.test")'],
  ['request.names.exists_one(n, n.startsWith("a"))', 'request.names.exists_one(n, n != "")'],
  [
    'request.names.filter(n, n > "a.test").size() == 1',
    'request.names.filter(n, n > "b").size() == 2',
  ],
  [
    'request.names.map(n, n + "x") == ["a.testx", "b.testx"]',
    'request.names.map(n, n + "x") == request.names',
  ],
  ['request.common_name.matches("^[a-z.]+$")', 'request.common_name.matches("^[a-w.]+$")'],
  ['type(request.key_bits) == int', 'type(request.ratio) == int'],
  ['request.key_bits * 2 == 512', 'request.key_bits / 2 == 127'],
  ['request.deep.of[0].a == null', 'has(request.deep.of[0].b)'],
  ['check_valid_email("a@b.test")', 'check_valid_email("a@b@c.test")'],
  ['check_valid_email("a.b+c@d-e.test")', 'check_valid_email(["a@b.test"])'],
  ['decode_json("{\\"a\\":[1]}").a[0] == 1', 'decode_json("{") != false'],
  ['encode_json({"a": [1, true, null]}) == "{\\"a\\":[1,true,null]}"', 'encode_json(now) != false'],
  [
    'decode_json("[9007199254740993,-9223372036854775808]") == [9007199254740993,-9223372036854775808]',
    'decode_json("9007199254740993") == 9007199254740992',
  ],
  ['decode_json("[1e20,1.5]") == [1e20,1.5]', 'decode_json("1.5") == 1'],
  ['encode_json([1.0 / 0.0]) == false', 'encode_json([1.0 / 2.0]) == false'],
  ['int("+5") == 5 && int("-007") == -7', 'int("7") == 5'],
  ['uint("18446744073709551615") == 18446744073709551615u', 'uint("7") == 5u'],
  ['double("1e3") == 1000.0 && double(".5") == 0.5', 'double("5.") == 0.5'],
  ['double("-inf") < -1e300 && double("NaN") != double("NaN")', 'double("Infinity") < 1.0'],
  ['"aXbXc".indexOf("X") == 1 && "aXbXc".lastIndexOf("X") == 3', '"aXbXc".indexOf("X", 2) == 1'],
  ['"aXbXc".lastIndexOf("X", 2) == 1', '"aXbXc".lastIndexOf("X", 3) == 1'],
  ['"abc".contains("bc") && "abc".contains("")', '"abc".contains("cb")'],
  ['"abc".indexOf("") == 0 && "abc".lastIndexOf("") == 3', '"abc".lastIndexOf("d") == 3'],
  ['request.names[1] == "b.test" && {1: "a"}[1] == "a"', 'request.names[0] == "b.test"'],
  ['1 in {1: 2} && !(1 in request.deep)', '1u in {2: 1}'],
  ['"a,b".split(",").join("-") == "a-b"', '"a,b".split(";").size() == 2'],
  ['"aXa".replace("a", "b") == "bXb"', '"aXa".replace("a", "b", 1) == "bXb"'],
  ['"abc".replace("", "-") == "-a-b-c-"', '"abc".replace("", "-") == "a-b-c"'],
  ['"abc".replace("", "-", 2) == "-a-bc"', '"abc".replace("", "-", 2) == "a-bc"'],
  ['"".replace("", "-") == "-"', '"".replace("a", "-") == "-"'],
  ['"a😀b".replace("", "-") == "-a-😀-b-"', '"a😀b".replace("", "-").size() == 8'],
  ['"aaa".replace("a", "bb", 2) == "bbbba"', '"aaa".replace("a", "bb", 0) == "bbbba"'],
  ['"aXbXc".replace("X", "") == "abc"', '"aXbXc".replace("Y", "") == "abc"'],
  ['"a😀b".split("") == ["a", "😀", "b"]', '"a😀b".split("").size() == 4'],
  ['"abc".split("", 2) == ["a", "bc"]', '"abc".split("", 2) == ["a", "b"]'],
  ['"".split("") == [] && "".split(",") == [""]', '"".split("") == [""]'],
  ['"a,b,c".split(",", 2) == ["a", "b,c"]', '"a,b,c".split(",", 2) == ["a", "b"]'],
  ['"a,b,".split(",", -1) == ["a", "b", ""]', '"a,b,".split(",", 0).size() == 3'],
  ['"a,b".split(",", 1) == ["a,b"]', '"a,b".split(",", 1) == ["a"]'],
  [
    'encode_json([9223372036854775807, 18446744073709551615u]) == "[9223372036854775807,18446744073709551615]"',
    'encode_json(9223372036854775807) == "9223372036854776000"',
  ],
  ['encode_json({1: "é\\"", "1": 0.5}) == "{\\"1\\":0.5}"', 'encode_json({1: now}) != false'],
  ['"Aé".lowerAscii() == "aé"', '"É".lowerAscii() == "é"'],
  ['bytes("a") + b"b" == b"ab"', 'string(b"ab") == "a"'],
  [
    'entity_id == "e1" && entity_info.metadata.team == "blue"',
    'entity_info.metadata.team == "red"',
  ],
  ['entity_groups.exists(g, g.name == "issuers")', 'entity_groups.exists(g, g.name == "issuer")'],
  ['!use_csr && parsed_csr == {}', 'use_csr'],
  ['KeyUsage.KeyUsageCertSign == 32', 'KeyUsage.KeyUsageCertSign == 6'],
];

for (const [expression, nearMiss] of TRUE) {
  test(`${expression} holds, and ${nearMiss} does not`, () => {
    const said = (one: string) => ask(`(${one}) ? "yes" : "no"`);
    assert.deepEqual(said(expression), { allowed: false, because: 'yes' });
    assert.deepEqual(said(nearMiss), { allowed: false, because: 'no' });
  });
}

type Refused = readonly [expression: string, variables: readonly string[], message: RegExp];

const REFUSED: readonly Refused[] = [
  ['decode_json("9223372036854775808") == 1', [], /a whole number has more than 64 bits/],
  ['decode_json("[1e400]") == 1', [], /a number is too large/],
  ...['', ' 5', '0x10', '5.0', '1e3', '--5'].map(
    (text): Refused => [`int("${text}") == 5`, [], /int: the text is no number/],
  ),
  ['int("9223372036854775808") > 0', [], /int overflow/],
  ['uint("-1") == 1u', [], /uint: the text is no number/],
  ['uint("18446744073709551616") > 0u', [], /uint overflow/],
  ...['', 'abc', '1e400', '.', '1_0'].map(
    (text): Refused => [`double("${text}") < 1.0`, [], /double: the text is no number/],
  ),
  ['"abc".indexOf("a", 3) == 0', [], /index 3 out of bounds/],
  ['request.names[2] == ""', [], /index 2 out of bounds/],
  ['request.none', [], /expression: field not found: none/],
  ['1 / 0 == 1', [], /divide by zero/],
  ['9223372036854775807 + 1', [], /overflow/],
  ['v0', ['request.none'], /variables\[0\] v0: field not found/],
  ['v1', ['v1', '1'], /variables\[0\] v0: "v1" is not known here/],
  ['"a".matches("(")', [], /parsing regexp/],
  ['"a".matches("a(?=b)")', [], /parsing regexp/],
  [`"a".matches("${'a'.repeat(513)}")`, [], /at most 512 characters/],
  ['"a".matches("((a{50}){20}){2}")', [], /regular expression|repeat/],
  ['1', [], /something else than a ValidationOutput/],
  ['now', [], /something else than a ValidationOutput/],
  ['ValidationOutput{template: "x"}', [], /got string for message ValidationOutput.template/],
  ['ValidationOutput{key_bits: "x"}', [], /got string for message ValidationOutput.key_bits/],
  [
    'v14',
    ['[1]', ...Array.from({ length: 14 }, (_, at) => `v${at} + v${at}`)],
    /a list would have 8192 items/,
  ],
  [
    'v22',
    ['"aa"', ...Array.from({ length: 22 }, (_, at) => `v${at} + v${at}`)],
    /it makes too much/,
  ],
  [
    'encode_json(v7)',
    ['["xxxxxxxxxx"]', ...Array.from({ length: 7 }, (_, at) => `[${Array(10).fill(`v${at}`)}]`)],
    /it makes too much/,
  ],
  [
    'ValidationOutput{template: CertTemplate{DNSNames: v1}}',
    [
      '"a".replace("a", "aaaaaaaaaa").replace("a", "aaaaaaaaaa").replace("a", "aaaaaaaaaa").replace("a", "aaaaaaaaaa")',
      `[${Array(900).fill('v0')}]`,
    ],
    /it makes too much/,
  ],
];

for (const [expression, variables, message] of REFUSED) {
  test(`${expression.slice(0, 60)} is refused: ${message}`, () => {
    assert.throws(
      () => ask(expression, variables),
      (error) =>
        error instanceof Failure && error.kind === 'invalid' && message.test(error.message),
    );
  });
}

test('what is sent has bounds before it is given to a program', () => {
  let deep: unknown = 'x';
  for (let at = 0; at < 20; at += 1) deep = [deep];
  assert.throws(() => ask('true', [], { deep }), /within each other/);
  assert.throws(
    () => ask('true', [], { list: Array(5001).fill(1) }),
    /a list would have 5001 items/,
  );
  assert.deepEqual(
    ask('request.list.size() == 5000 ? "a" : "b"', [], { list: Array(5000).fill(1) }),
    {
      allowed: false,
      because: 'a',
    },
  );
});

test('regular expressions that others try again and again take time in proportion', () => {
  const t = `${'a'.repeat(20_000)}!`;
  return spendsAtMost(2_000, () => {
    for (const pattern of ['(a+)+$', '^(a|a)*$', '(a*)*b', '(.*)(.*)(.*)(.*)c']) {
      assert.deepEqual(ask(`request.t.matches("${pattern}") ? "yes" : "no"`, [], { t }), {
        allowed: false,
        because: 'no',
      });
    }
  });
});

const numbers = Array.from({ length: 5_000 }, (_, at) => at);
const BIG = {
  s: 'a'.repeat(900_000),
  half: 'a'.repeat(300_000),
  part: `${'a'.repeat(75_000)}b${'a'.repeat(75_000)}`,
  l: numbers.slice(0, 300),
  k: numbers.slice(0, 4_900),
  n: numbers.slice(0, 4_900),
  t: numbers.slice(0, 3_000).map(String),
  m: Object.fromEntries(numbers.slice(0, 4_000).map((at) => [`k${at}`, at])),
  units: '1h'.repeat(64),
  digits: '9'.repeat(900_000),
  mail: `a@${'a'.repeat(253)}!`,
  pattern: `(?i)(${'a.'.repeat(240)}){1000}`,
};

/** What takes long each time, so often that it would take long altogether. */
const LONG = [
  'request.half.split(request.part).size() == 7',
  'request.half.replace(request.part, "") == "b"',
  'request.half.contains(request.part)',
  'request.half.lastIndexOf(request.part) == 0',
  // What ends with its first round begins with all of it.
  '!request.k.exists(z, true)',
  'request.m.all(z, false)',
  // A key that is no text is compared with each.
  '5 in request.m',
  'request.m[5] == 1',
  'request.m[x] == 1',
  'duration(request.units) == now',
  'int(request.digits) == 1',
  'check_valid_email(request.mail)',
  '"".matches(request.pattern + string(x))',
  '"b".matches("(a{30}){30}" + string(x))',
  // Errors of which nothing is heard.
  'request.none || request.none',
  'timestamp("x") == now',
  'bool("tru")',
  'double("x") == 1.0',
  'request.l.filter(z, z.none).size() == 1',
  // A path might be a name at each of its dots.
  `request${'.a'.repeat(25)}`,
  `request.${'n'.repeat(2_600)}`,
  'type(CertTemplate{}) == int',
  'string(now) == ""',
  'request.s.matches("b")',
  'request.s.split("").size() == 1',
  'request.l == request.k',
  'request.n != request.k',
  '{"a": request.n} != {"a": request.k}',
  '5000 in request.k',
  'request.m == {}',
  'request.l.join() == ""',
  '(request.k + [1]) == []',
  'CertTemplate{DNSNames: request.t} == CertTemplate{}',
  'CertTemplate{DNSNames: request.t}.DNSNames.size() == 3',
  'CertTemplate{Subject: PKIX.Name{CommonName: "a"}}.IsCA',
  'now.getHours("America/New_York") == 25',
  'bytes(request.s) == b"a"',
  'encode_json(request.l) == ""',
];
for (const body of LONG) {
  test(`${body} within macros ends with the budget, in a second or two`, () =>
    spendsAtMost(3_000, () => {
      const rounds = 'request.k.exists(x, request.k.exists(y, ';
      assert.throws(
        () => ask(`${rounds}${body})) ? "a" : "b"`, [], BIG),
        /it (takes|makes) too |a list would have|expression is too large/,
      );
    }));
}

test('what is asked of a few things costs no more than it takes', () => {
  const few = { ...BIG, l: [1, 2, 3] };
  for (const body of LONG.filter((one) => !/request[.](half|s|pattern)/.test(one))) {
    const evaluate = () => ask(`request.l.exists(x, ${body}) ? "a" : "b"`, [], few);
    try {
      evaluate();
    } catch (error) {
      assert.doesNotMatch(String(error), /too (long:|much)/, body);
    }
  }
});

test('what may be asked of as many names as a certificate has is within the budget', () => {
  const names = numbers.map((at) => `host-${at}.example.com`);
  const allowed = [...numbers.slice(1, 100).map((at) => `.d${at}.test`), '.example.com'];
  const text = 'x'.repeat(900_000);
  for (const expression of [
    'request.names.all(n, request.allowed.exists(a, n.endsWith(a)))',
    'request.names.all(n, n.matches("^[a-z0-9-]+[.]example[.]com$") && !n.contains(".."))',
    'request.names.map(n, url.URL{Scheme: "https", Host: n}).size() == 5000',
    '!request.text.contains(request.piece) && request.text.lastIndexOf(request.piece) < 0',
  ]) {
    const near = expression.replace('n.endsWith(a)', 'n.startsWith(a)').replace('[a-z', '[i-z');
    const say = (one: string) =>
      ask(`${one} ? "yes" : "no"`, [], { names, allowed, text, piece: `${'x'.repeat(5_000)}y` });
    assert.deepEqual(say(expression), { allowed: false, because: 'yes' }, expression);
    if (near === expression) continue;
    assert.deepEqual(say(near), { allowed: false, because: 'no' }, near);
  }
});

test('a whole number of a request that may have been another one is refused, naming its field', () => {
  const say = (serial: number) => ask('request.serial > 0 ? "yes" : "no"', [], { serial });
  assert.deepEqual(say(Number.MAX_SAFE_INTEGER), { allowed: false, because: 'yes' });
  assert.deepEqual(say(0.5), { allowed: false, because: 'yes' });
  assert.throws(() => say(2 ** 53), /serial: a whole number beyond 2\^53 is not held exactly/);
  assert.throws(() => ask('true', [], { of: [{ n: -(2 ** 60) }] }), /of: a whole number beyond/);
});

test('brackets in texts and comments are no parts', () => {
  const deep = (count: number) => `${'('.repeat(count)}true${')'.repeat(count)} ? "a" : "b"`;
  const texts = [
    `"${'('.repeat(200)}" == "" || `,
    `'''${'['.repeat(200)}"' ''' == "" || `,
    String.raw`"\"((((" == "" || `,
    `r"\\" == "${'('.repeat(200)}" || `,
    `// ${'{'.repeat(200)} "\n`,
  ];
  for (const text of texts) {
    assert.deepEqual(ask(text + deep(90)), { allowed: false, because: 'a' }, text);
  }
  const closing = ')'.repeat(200);
  for (const text of [
    `"${closing}" == "" || `,
    `'''${closing}" ''' == "" || `,
    `"\\"${closing}" == "" || `,
    `r"${closing}\\" == "" || `,
    `// ${closing}\n`,
  ]) {
    assert.throws(() => ask(text + deep(150)), /too many parts within each other/, text);
  }
});

test('a variable whose name would mean something else is refused, and one of a near name is read', () => {
  const call = (name: string) =>
    evaluateProgram({
      ...{ request: {}, now: NOW, use_csr: false, identity: undefined, groups: [] },
      program: { variables: [{ name, expression: '"x"' }], expression: name },
    });
  for (const name of ['__proto__', 'CertTemplate', 'ValidationOutput', 'PKIX', 'url', 'in']) {
    assert.throws(
      () => call(name),
      (error) =>
        error instanceof Failure &&
        error.kind === 'invalid' &&
        /is no name of a variable/.test(error.detail.fields?.cel_program ?? ''),
      name,
    );
  }
  for (const name of ['_proto_', 'certTemplate', 'Output', 'urls', 'constructor', 'toString']) {
    assert.deepEqual(call(name), { allowed: false, because: 'x' }, name);
  }
});

test('an unknown key of a program is told, but not the whole of it', () => {
  const say = (key: string) =>
    programField().safeParse({ expression: 'true', [key]: 1 }).error?.issues[0]?.message ?? '';
  assert.match(say('near'), /"near"/);
  assert.ok(say('k'.repeat(500)).length < 200);
});

test('a program sees what a CSR has, and what it brings is told of an allowed one', () => {
  const csr = makeCsr({
    subject: { common_name: 'a.test', organization: ['Acme'] },
    extensions: [
      subjectAltName(
        { dns: ['a.test', 'b.test'], email: [], ip: ['192.0.2.1'], uri: [], other: [] },
        false,
      ),
    ],
  });
  const judge = (condition: string, use_csr = true) =>
    evaluateProgram({
      ...{ request: { csr }, now: NOW, use_csr, identity: undefined, groups: [] },
      program: {
        variables: [],
        expression: `${condition} ? ValidationOutput{template: CertTemplate{DNSNames: ["c.test"]}} : "no"`,
      },
    });
  const seen = judge(
    [
      'use_csr && parsed_csr.Subject.CommonName == "a.test"',
      'parsed_csr.Subject.Organization == ["Acme"] && parsed_csr.Subject.Country == []',
      'parsed_csr.DNSNames == ["a.test", "b.test"] && parsed_csr.IPAddresses == ["192.0.2.1"]',
      'parsed_csr.PublicKeyAlgorithm == "EC" && parsed_csr.PublicKeyBits == 256',
      'parsed_csr.Raw.size() > 100 && "2.5.29.17" in parsed_csr.Extensions',
    ].join(' && '),
  );
  assert.ok(seen.allowed);
  const [brought] = seen.brought;
  assert.equal(brought?.common_name, 'a.test');
  assert.equal(brought?.alt_names, 'a.test,b.test');
  assert.deepEqual(judge('parsed_csr.DNSNames == ["c.test"]'), { allowed: false, because: 'no' });
  const without = judge('parsed_csr == {}', false);
  assert.ok(without.allowed);
  assert.deepEqual(without.brought, []);
});
