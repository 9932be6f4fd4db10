/** The rules for names hold alike on every path that judges names. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  type AskedNames,
  csrOfNames,
  fieldsOfNames,
  REFUSED_NAMES,
} from '../support/refused-names.ts';
import { type Reply, startTestServer } from '../support/server.ts';

/** Of an answer: that, or why not. */
type Told = Pick<Reply, 'status' | 'text'>;

const { call } = await startTestServer({ after });
before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki' });
  const root = { common_name: 'R', key_type: 'ec', issuer_name: 'root' };
  await call('POST', 'pki/root/generate/internal', root);
});

const own = { use_csr_common_name: false, use_csr_sans: false };
const nameless = csrOfNames({});

/** What a trial tells, as whoever asks for the certificate would hear it. */
async function tryOut(body: object): Promise<Told> {
  const told = await call('POST', 'pki/roles/x/test', body);
  if (told.status !== 200) return told;
  const allowed = told.field('data.allowed');
  const names = told.field('data.names') as { name: string; rule?: string }[];
  if (allowed === true) {
    const unruled = names.filter(({ rule }) => rule === undefined);
    assert.deepEqual(unruled, [], 'a name is let in by a rule');
    return told;
  }
  return { status: 400, text: String(told.field('data.because')) };
}

const WAYS: readonly [way: string, role: object, ask: (names: AskedNames) => Promise<Told>][] = [
  ['issue', {}, (names) => call('POST', 'pki/issue/x', fieldsOfNames(names))],
  [
    'issue by an issuer',
    {},
    (names) => call('POST', 'pki/issuer/root/issue/x', fieldsOfNames(names)),
  ],
  ['sign', {}, (names) => call('POST', 'pki/sign/x', { csr: csrOfNames(names) })],
  [
    'sign by an issuer',
    {},
    (names) => call('POST', 'pki/issuer/root/sign/x', { csr: csrOfNames(names) }),
  ],
  [
    'sign, names beside the CSR',
    own,
    (names) => call('POST', 'pki/sign/x', { ...fieldsOfNames(names), csr: nameless }),
  ],
  ['a trial of the role', {}, (names) => tryOut(fieldsOfNames(names))],
  ['a trial with a CSR', {}, (names) => tryOut({ csr: csrOfNames(names) })],
  [
    'a trial, names beside the CSR',
    own,
    (names) => tryOut({ ...fieldsOfNames(names), csr: nameless }),
  ],
];

for (const [way, role, ask] of WAYS) {
  test(`names that the rules do not let in are refused by ${way}`, async () => {
    for (const { what, rules, allowed, refused, says } of REFUSED_NAMES) {
      const whole = { key_type: 'ec', ttl: '1h', ...rules, ...role };
      const written = await call('POST', 'pki/roles/x', whole);
      assert.equal(written.status, 200, `${what}: ${written.text}`);
      const letIn = await ask(allowed);
      assert.equal(letIn.status, 200, `${what}: ${letIn.text}`);
      const answer = await ask(refused);
      assert.equal(answer.status, 400, `${what}: ${answer.text}`);
      assert.match(answer.text, says, what);
    }
  });
}
