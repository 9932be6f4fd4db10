/** What an external policy service answers, and the expressions that choose what it is told. */

import assert from 'node:assert/strict';
import { Failure } from '../../src/core/failure.ts';
import { evaluate } from '../../src/core/jmespath/evaluation.ts';
import { parseExpression } from '../../src/core/jmespath/parser.ts';
import { encodePem } from '../../src/core/pem.ts';
import { PolicyFault, parsePolicyAnswer } from '../../src/pki/external-policy/answer.ts';
import { planAnswered, readAnswered } from '../../src/pki/external-policy/certificate.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { nameConstraints, parseNameConstraints } from '../../src/x509/name-constraints.ts';
import { makeContext } from '../support/leaves.ts';
import * as corpus from './corpus.ts';
import type { FuzzTarget } from './run.ts';

const utf8 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');
const bytesOf = (...texts: string[]): Uint8Array[] =>
  texts.map((text) => new TextEncoder().encode(text));

const narrow = nameConstraints({ permitted_dns_domains: ['example.com'] });
const CONTEXT = makeContext({
  behavior: 'permit',
  name_constraints: narrow ? [parseNameConstraints(narrow.value)] : [],
});

function readAnswer(bytes: Uint8Array): void {
  try {
    const answer = parsePolicyAnswer(utf8(bytes));
    for (const words of [answer.error, ...answer.warnings]) assert.doesNotMatch(words, /[\p{Cc}]/u);
    assert.equal(typeof answer.store_certificate, 'boolean');
  } catch (error) {
    if (error instanceof PolicyFault) throw new Failure('invalid', error.message);
    throw error;
  }
}

/** As damaged DER, that its fields are reached. */
function readMadeOut(bytes: Uint8Array): void {
  const certificate = readAnswered(encodePem('CERTIFICATE', bytes));
  const { subjectPublicKeyInfo } = parseCertificate(bytes);
  for (const mode of ['sign', 'ica'] as const) {
    try {
      const plan = planAnswered(certificate, { mode, subjectPublicKeyInfo }, CONTEXT);
      assert.equal(certificate.isCa, mode === 'ica');
      assert.ok(plan.names.dns.every((name) => /(?:^|\.)example\.com$/i.test(name)));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
    }
  }
}

const KNOWN = {
  name: 'ada',
  metadata: { team: 'ops', n: '3' },
  list: [1, [2, { a: 'b' }], null],
  aliases: [
    { name: 'a', age: 1 },
    { name: 'b', age: 2 },
  ],
};

function readExpression(bytes: Uint8Array): void {
  const expression = parseExpression(utf8(bytes));
  const found = evaluate(expression, KNOWN);
  // What it comes to can be written, and is not longer than it was measured to be.
  assert.ok((JSON.stringify(found) ?? '').length < 16 << 20);
}

export const policyTargets: readonly FuzzTarget[] = [
  {
    name: 'policy-answer',
    corpus: bytesOf(
      '{"request_uuid":"a","certificate":"-----BEGIN","store_certificate":true,"generate_lease":false}',
      '{"request_uuid":"a","error":"no\\u001b[31m","warnings":["a","\\u202e"],"issuer_ref":"default"}',
      '{"warnings":null,"error":null,"deep":[[[{"a":[]}]]]}',
    ),
    words: ['null', '{}', '[]', '"warnings":', '"error":', '__proto__', '\\u0000', '1e999', '[['],
    read: readAnswer,
  },
  { name: 'policy-certificate', corpus: corpus.certificates, read: readMadeOut },
  {
    name: 'jmespath',
    corpus: bytesOf(
      'aliases[?age > `1` && name != \'a\'].{n: name, "o p": age} | [0]',
      "sort_by(aliases, &age)[*].name || join(',', keys(metadata))",
      'list[][] | [::-1] | {a: @, b: [@, @]} | to_string(@)',
      '!(metadata.team) && *.team.length(@)',
    ),
    words: [
      '[@,@]|',
      '[*]',
      '[]',
      '[?',
      '&',
      '`{}`',
      "'\\''",
      '|',
      '.*',
      'map(&@,',
      'merge(@,@)',
      ')',
    ],
    read: readExpression,
  },
];
