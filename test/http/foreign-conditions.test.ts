// Where a condition of a policy speaks of a list, names in other scripts are converted to be compared: no
// list of them holds anybody up, and what is not read does not pass.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestServer } from '../support/server.ts';
import { holdsNobodyUp } from '../support/turns.ts';

const { call } = await startTestServer({ after });
await call('POST', 'sys/mounts/pki', { type: 'pki' });
const CONDITIONS = {
  denied:
    'denied_parameters = { "allowed_domains" = ["evil.com", "*.evil.com"], "excluded_dns_domains" = ["x"], "permitted_dns_domains" = ["x"] }',
  allowed: 'allowed_parameters = { "allowed_domains" = ["*.com"] }',
};
const tokens: Record<string, string> = { root: 'root' };
for (const [name, condition] of Object.entries(CONDITIONS)) {
  const policy = `path "pki/*" { capabilities = ["create", "update"] ${condition} }`;
  await call('POST', `sys/policies/acl/${name}`, { policy });
  const made = await call('POST', 'auth/token/create', { policies: [name] });
  tokens[name] = made.textAt('auth.client_token');
}

const many = (count: number, name: (i: number) => string): string[] =>
  Array.from({ length: count }, (_, i) => name(i));
const unicode = (i: number): string => `üüüüüüüüüü${i.toString(36)}ß.例え${i}.com`;
const encoded = (i: number): string => `xn--bcher-kva.a${i}.com`;
const ascii = (i: number): string => `a${i}.com`;
const marked = (i: number): string => `${'\u035d'.repeat(500)}${'\u0334'.repeat(500)}${i}.com`;
const kanji = (i: number): string =>
  `${many(1_000, (at) => String.fromCharCode(0x9f00 - at)).join('')}${i}.com`;

const CASES: [who: string, what: string, domains: string[], status: number][] = [
  ['denied', '2,000 in their own script', many(2_000, unicode), 200],
  ['denied', '2,001 in their own script', many(2_001, unicode), 403],
  ['denied', '2,000, one of them denied', [...many(1_999, unicode), 'ü.evil.com'], 403],
  ['denied', '2,001 in ASCII letters', many(2_001, encoded), 403],
  ['denied', '10,000 in their own script', many(10_000, unicode), 403],
  ['denied', '10,000 in ASCII', many(10_000, ascii), 200],
  ['allowed', '2,000 in their own script', many(2_000, unicode), 200],
  ['allowed', '2,001 in their own script', many(2_001, unicode), 403],
  ['allowed', '2,000, one of them not allowed', [...many(1_999, unicode), 'ü.org'], 403],
  ['denied', '350 of a thousand marks', many(350, marked), 200],
  ['denied', '300 of a thousand letters', many(300, kanji), 200],
  ['denied', '300 of a thousand letters, and one denied', [...many(300, kanji), 'ü.evil.com'], 403],
  [
    'allowed',
    '300 of a thousand letters, and one not allowed',
    [...many(300, kanji), 'ü.org'],
    403,
  ],
  ['root', '10,000 in their own script', many(10_000, unicode), 200],
];

for (const [who, what, allowed_domains, status] of CASES) {
  test(`names of a role under a condition (${who}): ${what}`, async () => {
    await holdsNobodyUp(async () => {
      const token = tokens[who] ?? '';
      const written = await call('POST', 'pki/roles/r', { allowed_domains }, { token });
      assert.equal(written.status, status, written.text.slice(0, 300));
    });
  });
}

test('names in other scripts count together, whichever fields they are in', async () => {
  const half = many(1_001, unicode);
  const body = { common_name: 'R', permitted_dns_domains: half, excluded_dns_domains: half };
  const made = await call('POST', 'pki/root/generate/internal', body, {
    token: tokens.denied ?? '',
  });
  assert.equal(made.status, 403, made.text.slice(0, 300));
});
