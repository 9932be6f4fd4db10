import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOrderly, type RefusalKind, refusalOfClose, refusalOfError } from './refusal.ts';

const CLOSES: [code: number, reason: string, kind: RefusalKind, is_final: boolean][] = [
  [1008, 'tofu token not allowed', 'in use', true],
  [1008, 'error: tofu token not allowed for this', 'in use', true],
  [1011, 'unable to authorize connection', 'no more', true],
  [1011, 'refusing to activate session', 'no more', true],
  [1011, 'unable to activate session', 'no more', true],
  [1008, 'invalid handshake received', 'protocol', true],
  [1003, 'invalid tofu token', 'protocol', true],
  [1002, '', 'protocol', true],
  [3000, 'unable to setup proxying', 'endpoint', false],
  [3000, 'unable to get endpoint dialer', 'endpoint', false],
  [1011, 'unable to establish proxy', 'broken off', false],
  [1011, 'endpoint broke off', 'endpoint', false],
  [1011, 'connection cut off', 'cut', false],
  [1011, '', 'broken off', false],
  [1006, '', 'broken off', false],
];
for (const [code, reason, kind, is_final] of CLOSES) {
  test(`a close with ${code} "${reason}" means: ${kind}`, () => {
    const refusal = refusalOfClose(code, reason);
    assert.deepEqual([refusal.kind, refusal.is_final], [kind, is_final]);
    assert.match(refusal.words, /^[a-z].*[^.]$/);
  });
}

const ERRORS: [code: string, kind: RefusalKind, words: RegExp][] = [
  ['ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', 'not accepted', /canceled, has expired, or is not known/],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'not accepted', /does not accept the session/],
  ['CERT_NOT_YET_VALID', 'not accepted', /not valid yet: is the clock/],
  ['CERT_HAS_EXPIRED', 'not accepted', /has run out: is the clock/],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'not accepted', /w:1 is not the worker of this session/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'not accepted', /is not the worker of this session/],
  ['ECONNREFUSED', 'unreachable', /at w:1: nothing listens there/],
  ['ETIMEDOUT', 'unreachable', /does not answer/],
  ['ENOTFOUND', 'unreachable', /host name is not known/],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'unreachable', /does not speak TLS/],
  ['ECONNRESET', 'unreachable', /ECONNRESET/],
];
for (const [code, kind, words] of ERRORS) {
  test(`an error ${code} means: ${kind}`, () => {
    const refusal = refusalOfError(Object.assign(new Error(), { code }), 'w:1');
    assert.deepEqual([refusal.kind, refusal.is_final], [kind, kind === 'not accepted']);
    assert.match(refusal.words, words);
  });
}

test('an error without a code is a worker that breaks off', () => {
  assert.match(refusalOfError(new Error('x'), 'w:1').words, /it breaks the connection off$/);
});

test('what ends as it should is told from what is broken', () => {
  assert.deepEqual([1000, 1001, 1005, 1006, 1011, 3000].filter(isOrderly), [1000, 1001, 1005]);
});
