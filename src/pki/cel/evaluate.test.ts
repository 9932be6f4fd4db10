import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../core/failure.ts';
import { type CelVerdict, evaluateProgram } from './evaluate.ts';

const NOW = Date.UTC(2030, 0, 31, 12);
const REQUEST = {
  common_name: 'a.example.com',
  ttl: '1h',
  key_bits: 256,
  ratio: 0.5,
  names: ['a.test', 'b.test'],
  deep: { of: [{ a: null }] },
};

function ask(expression: string, variables: string[] = [], request: object = REQUEST): CelVerdict {
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
  ['"a,b".split(",").join("-") == "a-b"', '"a,b".split(";").size() == 2'],
  ['"aXa".replace("a", "b") == "bXb"', '"aXa".replace("a", "b", 1) == "bXb"'],
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

const REFUSED: readonly [expression: string, variables: string[], message: RegExp][] = [
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
  const begun = performance.now();
  const t = `${'a'.repeat(20_000)}!`;
  for (const pattern of ['(a+)+$', '^(a|a)*$', '(a*)*b', '(.*)(.*)(.*)(.*)c']) {
    assert.deepEqual(ask(`request.t.matches("${pattern}") ? "yes" : "no"`, [], { t }), {
      allowed: false,
      because: 'no',
    });
  }
  assert.ok(performance.now() - begun < 10_000);
});
