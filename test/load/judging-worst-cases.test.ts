// Judging one request, by the policies of its token and of all that the token was made out of, at its path
// and wherever else it is judged, holds nobody up.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { cpuUntil } from '../support/cpu-time.ts';
import { holdBounds } from '../support/machine.ts';
import { startTestServer } from '../support/server.ts';
import { longestTurn } from '../support/turns.ts';

const { call } = await startTestServer({ after });

/** A token that eight others bound: each is made with one policy fewer than the one before. */
async function lineOfTokens(name: string, policies: readonly string[]): Promise<string[]> {
  const names = policies.map((_, at) => `${name}-${at}`);
  for (const [at, policy] of policies.entries()) {
    await call('PUT', `sys/policies/acl/${name}-${at}`, { policy });
  }
  const others = Array.from({ length: 9 }, (_, at) => `${name}-other-${at}`);
  for (const other of others) {
    await call('PUT', `sys/policies/acl/${other}`, {
      policy: 'path "auth/token/create" { capabilities = ["update"] }',
    });
  }
  const tokens: string[] = [];
  for (const [at] of others.entries()) {
    const [token = 'root'] = tokens.slice(-1);
    const body = { policies: [...names, ...others.slice(at)], no_default_policy: true };
    const made = await call('POST', 'auth/token/create', body, { token });
    assert.equal(made.status, 200, made.text);
    tokens.push(made.textAt('auth.client_token'));
  }
  return tokens;
}

const NAME = 'aaaaaaaaaaaaaaaa';
const nested = (last: string) => [...Array.from({ length: 7 }, () => [[[[[]]]]]), last];
const inCases = (nth: number): string =>
  NAME.replace(/./g, (letter, at) => ((nth >> at) & 1 ? letter.toUpperCase() : letter));
const stanza = (path: string, conditions: string): string =>
  `path "${path}" { capabilities = ["create", "update"] ${conditions} }`;

const ends = Array.from({ length: 50 }, (_, at) => `"*${'y'.repeat(at + 1)}"`).join();
const long = (count: number) => Array.from({ length: count }, (_, at) => 'x'.repeat(60) + at);
const capabilities = 'sys/capabilities-self';
const allowedLists = (nth: number): string => {
  const values = Array.from({ length: 23 }, (_, at) => JSON.stringify(nested(`${nth} ${at}`)));
  return `allowed_parameters = { "${NAME}" = [${values.join()}] "*" = [] }`;
};

type Case = [
  what: string,
  policies: string[],
  path: string,
  body: object,
  alone: number,
  nine: number,
];
const CASES: Case[] = [
  [
    'lists in lists, in thousands of letter cases',
    Array.from({ length: 10 }, (_, nth) => stanza(capabilities, allowedLists(nth))),
    capabilities,
    {
      paths: ['a'],
      ...Object.fromEntries(
        Array.from({ length: 2250 }, (_, at) => [inCases(at + 1), nested('9 22')]),
      ),
    },
    403,
    403,
  ],
  [
    'ends of fifty lengths',
    [stanza(capabilities, `denied_parameters = { "yy" = [${ends}] }`)],
    capabilities,
    { paths: ['a'], yy: long(9_000) },
    200,
    403,
  ],
  [
    'ends of fifty lengths at all the paths that set the same',
    [stanza('*', `denied_parameters = { "yy" = [${ends}] }`)],
    'sys/policies/acl/another',
    { policy: 'path "a" { capabilities = ["read"] }', yy: long(3_000) },
    204,
    403,
  ],
  [
    'what is ordinary',
    [stanza('*', `denied_parameters = { "yy" = ["*.test", "x", "*.example.com", "evil*"] }`)],
    'sys/policies/acl/another',
    { policy: 'path "a" { capabilities = ["read"] }', yy: long(3_000) },
    204,
    204,
  ],
];

for (const [nth, [what, policies, path, body, alone, nine]] of CASES.entries()) {
  test(`${what}: judged in a short time, or refused with a word for it`, async () => {
    const tokens = await lineOfTokens(`case-${nth}`, policies);
    for (const [token = '', status] of [
      [tokens[0], alone],
      [tokens.at(-1), nine],
    ] as const) {
      // Some 20 to 60 ms, the client's own share and reading the body included; without the bounds up to 9 s.
      await holdBounds({ all: 250, turn: 60 }, async () => {
        let all = 0;
        const turn = await longestTurn(async () => {
          all = await cpuUntil(async () => {
            const reply = await call('POST', path, body, { token });
            assert.equal(reply.status, status, reply.text.slice(0, 300));
            if (status === 403) assert.match(reply.text, /takes too long to judge/);
          });
        });
        return { all, turn };
      });
    }
  });
}
