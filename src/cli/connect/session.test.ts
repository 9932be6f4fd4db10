import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeAuthorizationToken } from '../../broker/sessions/authorization-token.ts';
import { openSession, wordsOf } from './session.ts';

const AUTHORIZATION = {
  session_id: 's_1',
  target_id: 'ttcp_1',
  scope: { id: 'p_1', type: 'project', name: '', description: '', parent_scope_id: 'o_1' },
  created_ms: 0,
  type: 'tcp',
  connection_limit: -1,
  endpoint_port: 22,
  expires_ms: 0,
  certificate: Uint8Array.of(1),
  private_key: new Uint8Array(64),
  host_id: '',
  endpoint: 'tcp://10.0.0.5:22',
  worker_addresses: ['w:1'],
  default_client_port: 0,
};
const TOKEN = encodeAuthorizationToken(AUTHORIZATION);
const answer = { authorization_token: TOKEN, credentials: [{ secret: {} }] };

const open = (flags: Record<string, string>, operand?: string, T = '') =>
  openSession(new Map(Object.entries(flags)), operand, { T });

for (const [what, text, credentials] of [
  ['a token', TOKEN, 0],
  ['an answer', JSON.stringify(answer), 1],
  ['an answer within item', JSON.stringify({ status_code: 200, item: answer }), 1],
] as const) {
  test(`a session is opened by ${what}, and nobody is asked about it`, async () => {
    const session = await open({ 'authz-token': 'env://T' }, undefined, text);
    assert.equal(session.authorization.session_id, 's_1');
    assert.deepEqual([session.credentials.length, session.api], [credentials, undefined]);
  });
}

const NO_WORKER = encodeAuthorizationToken({ ...AUTHORIZATION, worker_addresses: [] });
const NO_KEY = encodeAuthorizationToken({ ...AUTHORIZATION, private_key: new Uint8Array(31) });
const REF = { 'authz-token': 'env://T' };
const refused: [
  flags: Record<string, string>,
  operand: string | undefined,
  text: string,
  because: RegExp,
][] = [
  [{}, undefined, '', /name one target/],
  [{ 'target-id': 'a' }, 'b', '', /name one target/],
  [REF, 'b', TOKEN, /name one target/],
  [{ 'target-name': 'n' }, undefined, '', /needs one of -target-scope-id and -target-scope-name/],
  [
    { 'target-name': 'n', 'target-scope-id': 'p', 'target-scope-name': 'q' },
    undefined,
    '',
    /needs one of/,
  ],
  [{ 'target-id': 'a', 'target-scope-id': 'p' }, undefined, '', /goes with -target-name/],
  [{ 'target-id': '' }, undefined, '', /is empty/],
  [REF, undefined, 'canary', /no authorization token/],
  [REF, undefined, '{"authorization_token": "canary', /no authorization token/],
  [REF, undefined, '{}', /no authorization token/],
  [REF, undefined, NO_KEY, /no authorization token/],
  [REF, undefined, NO_WORKER, /no worker/],
  [{ 'authz-token': TOKEN }, undefined, '', /not the secret itself/],
];
for (const [flags, operand, text, because] of refused) {
  test(`no session is opened by ${JSON.stringify(flags).slice(0, 60)} ${operand ?? ''} ${text.slice(0, 12)}`, async () => {
    await assert.rejects(
      () => open(flags, operand, text),
      (error: Error) => because.test(error.message) && !error.message.includes('canary'),
    );
  });
}

const ENDS: [status: string, reason: string, words: string | undefined][] = [
  ['pending', '', undefined],
  ['active', '', undefined],
  ['canceling', '', 'the session was canceled'],
  ['terminated', 'canceled', 'the session was canceled'],
  ['terminated', 'timed out', 'the session has expired'],
  ['terminated', 'connection limit', "the session's limit of connections is used up"],
  ['terminated', 'network error', 'the session has ended: network error'],
  ['terminated', 'constructor', 'the session has ended: constructor'],
];
for (const [status, reason, words] of ENDS) {
  test(`a session that is ${status} ${reason}: ${words ?? 'it goes on'}`, () => {
    assert.equal(wordsOf(status, reason), words);
  });
}
