import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseCertificate, chooseLogin, type Login } from './credentials.ts';

const typed = (credential: object) => ({ credential_source: {}, secret: {}, credential });
const untyped = (decoded: unknown) => ({ credential_source: {}, secret: { raw: '', decoded } });
const ADA = { username: 'ada', password: 'p' };
const KEY = { username: 'ada', private_key: 'K' };
const CERTIFICATE = { certificate: 'C', private_key: 'K', ca_chain: ['I', 7, 'R'] };

const chosen: [what: string, credentials: readonly unknown[], login: Login][] = [
  ['none', [], {}],
  ['a name and a password', [typed(ADA)], ADA],
  ['the first whole one', [typed({ password: 'x' }), typed(KEY), typed(ADA)], KEY],
  ['a password alone where there is no more', [typed({ password: 'x' })], { password: 'x' }],
  ['not a name alone', [typed({ username: 'ada' })], {}],
  [
    'a key with its passphrase',
    [typed({ ...KEY, private_key_passphrase: 's' })],
    { ...KEY, passphrase: 's' },
  ],
  ['what a library without a type gives', [untyped({ ...ADA, ttl: 5 })], ADA],
  ['the same within the data of a key-value engine', [untyped({ data: ADA, metadata: {} })], ADA],
  ['no values of another kind', [untyped({ username: 7, password: ['p'] })], {}],
  ['nothing of what is no object', ['ada', null, untyped('ada'), untyped(null), typed([])], {}],
  ['not the key of a certificate', [untyped({ ...CERTIFICATE, username: 'ada' })], {}],
];
for (const [what, credentials, login] of chosen) {
  test(`a login is chosen: ${what}`, () => {
    assert.deepEqual(chooseLogin(credentials), login);
  });
}

test('a certificate is chosen with its chain, and nothing else for one', () => {
  assert.deepEqual(chooseCertificate([typed(ADA), untyped(CERTIFICATE)]), {
    certificate: 'C\nI\nR',
    private_key: 'K',
  });
  assert.equal(chooseCertificate([typed(KEY), untyped({ certificate: 'C' })]), undefined);
});
