import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../core/failure.ts';
import {
  judgeTokenRules,
  judgeTokenTexts,
  POLICY_LIMITS,
  requireModestPolicy,
  requireModestText,
  TOKEN_LIMITS,
} from './policy-limits.ts';
import { parsePolicy } from './policy-reader.ts';

const many = (count: number, one: (place: number) => string): string =>
  Array.from({ length: count }, (_, place) => one(place)).join(' ');
const values = (count: number): string =>
  Array.from({ length: count }, (_, place) => `"${place}"`).join();

const { stanzas, conditions, conditions_of_stanza: own } = POLICY_LIMITS;
const stanza = (place: number): string => `path "a/${place}" { capabilities = ["read"] }`;
const of500 = (place: number): string =>
  `path "a/${place}" { required_parameters = [${values(500)}] }`;

const policies: [text: string, accepted: boolean, why: string][] = [
  [many(stanzas, stanza), true, 'as many stanzas as may be'],
  [many(stanzas + 1, stanza), false, 'one stanza more'],
  [`path "a" { required_parameters = [${values(own)}] }`, true, 'as many required as may be'],
  [`path "a" { required_parameters = [${values(own + 1)}] }`, false, 'one more required'],
  [`path "a" { allowed_parameters = { "p" = [${values(own - 1)}] } }`, true, 'a name and values'],
  [`path "a" { allowed_parameters = { "p" = [${values(own)}] } }`, false, 'the name counts'],
  [
    `path "a" { denied_parameters = { "p" = [[${values(own)}]] } }`,
    false,
    'values in a list count',
  ],
  [`path "a" { denied_parameters = { ${many(own + 1, (n) => `"p${n}" = []`)} } }`, false, 'names'],
  [many(conditions / 500, of500), true, 'as many in all as may be'],
  [many(conditions / 500 + 1, of500), false, 'too many in all'],
];

for (const [text, accepted, why] of policies) {
  test(`${why}: ${accepted ? 'written' : 'refused'}`, () => {
    const write = (): void => requireModestPolicy(parsePolicy(text));
    if (accepted) assert.doesNotThrow(write);
    else {
      assert.throws(
        write,
        (error) =>
          error instanceof Failure && error.kind === 'invalid' && /^policy: /.test(error.message),
      );
    }
  });
}

test('a text is as long as it may be, and not a character longer', () => {
  requireModestText('#'.repeat(POLICY_LIMITS.text));
  assert.throws(() => requireModestText('#'.repeat(POLICY_LIMITS.text + 1)), /^.*policy: at most/);
});

test('policies of one token are counted together', () => {
  const whole = parsePolicy(many(stanzas, stanza));
  const most = Array.from({ length: TOKEN_LIMITS.stanzas / stanzas }, () => whole);
  assert.equal(judgeTokenRules(most), undefined);
  assert.match(judgeTokenRules([...most, parsePolicy(stanza(0))]) ?? '', /10001 paths/);
  const conditioned = parsePolicy(many(conditions / 500, of500));
  const two = [conditioned, conditioned];
  assert.equal(judgeTokenRules(two), undefined);
  assert.match(judgeTokenRules([...two, conditioned]) ?? '', /15000 parameters and values/);
  assert.equal(judgeTokenTexts(TOKEN_LIMITS.text), undefined);
  assert.match(judgeTokenTexts(TOKEN_LIMITS.text + 1) ?? '', /bytes/);
});
