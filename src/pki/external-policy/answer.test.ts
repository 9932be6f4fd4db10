import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../../test/support/cpu-time.ts';
import { LONGEST_ANSWER, PolicyFault, parsePolicyAnswer } from './answer.ts';

const NOTHING = {
  request_uuid: '',
  error: '',
  warnings: [],
  certificate: '',
  issuer_ref: '',
  store_certificate: false,
  generate_lease: false,
};

test('what an answer leaves out, or has as null, is nothing; what is not known is passed over', () => {
  assert.deepEqual(parsePolicyAnswer('{}'), NOTHING);
  const nulls = Object.fromEntries(Object.keys(NOTHING).map((name) => [name, null]));
  assert.deepEqual(parsePolicyAnswer(JSON.stringify({ ...nulls, other: [{}] })), NOTHING);
  assert.deepEqual(parsePolicyAnswer('{"__proto__":{"error":"x","certificate":"y"}}'), NOTHING);
});

test('words of a service come as plain text of bounded length', () => {
  const error = `a\u0000\u001b[31m\n\u202eb${'c'.repeat(5_000)}`;
  const warnings = Array.from({ length: 100 }, () => error);
  const read = parsePolicyAnswer(JSON.stringify({ error, warnings }));
  assert.match(read.error, /^a \[31m bc+$/);
  assert.ok(read.error.length <= 1_024);
  assert.equal(read.warnings.length, 32);
});

const wrong: [field: string, value: unknown][] = [
  ['request_uuid', 1],
  ['request_uuid', 'x'.repeat(600)],
  ['error', {}],
  ['warnings', 'one'],
  ['warnings', [1]],
  ['certificate', ['a']],
  ['issuer_ref', true],
  ['issuer_ref', 'x'.repeat(600)],
  ['store_certificate', 'true'],
  ['generate_lease', 1],
];
for (const [field, value] of wrong) {
  test(`${field} of ${typeof value} is refused by its name`, () => {
    assert.throws(
      () => parsePolicyAnswer(JSON.stringify({ [field]: value })),
      (error) =>
        error instanceof PolicyFault && error.kind === 'malformed' && error.message.includes(field),
    );
  });
}

const fill = (unit: string): string => unit.repeat(Math.floor((LONGEST_ANSWER - 64) / unit.length));
const worst: [what: string, text: string][] = [
  ['brackets', fill('[')],
  ['lists in lists', `{"a":${fill('[],').slice(0, -1)}}`],
  ['lists', `{"a":[${fill('[],').slice(0, -1)}]}`],
  ['names', `{${fill('"a":{},').slice(0, -1)}}`],
  ['warnings', `{"warnings":[${fill('"",').slice(0, -1)}]}`],
  ['words', `{"error":"${fill('\\u202e')}"}`],
  ['blanks', `{"error":"${fill(' ')}"}`],
  ['a certificate', `{"certificate":"${fill('-----BEGIN A-----')}"}`],
];
for (const [what, text] of worst) {
  test(`the longest answer of ${what} is read or refused at once`, () =>
    spendsAtMost(300, () => {
      try {
        parsePolicyAnswer(text);
      } catch (error) {
        assert.ok(error instanceof PolicyFault);
      }
    }));
}
