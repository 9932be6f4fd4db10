import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMailAddress } from '../core/mail-address.ts';
import { parseConfig } from './config.ts';

const whole = {
  listener: { tls_disable: true },
  storage: { type: 'sqlite', path: '/var/lib/gatehouse' },
};
const parse = (more: object) => parseConfig(JSON.stringify({ ...whole, ...more }));
const smtp = { address: 'mail.test:587', from: 'ca@example.com' };

test('without smtp there is none; with it TLS has to begin', () => {
  assert.equal(parse({}).smtp, undefined);
  assert.equal(parse({ smtp: null }).smtp, undefined);
  assert.deepEqual(parse({ smtp }).smtp, {
    host: 'mail.test',
    port: 587,
    from: 'ca@example.com',
    username: '',
    password_file: '',
    tls: 'starttls',
    tls_ca_file: '',
  });
});

const refused: [smtp: object, because: RegExp][] = [
  [{ from: 'ca@example.com' }, /smtp\.address/],
  [{ ...smtp, from: 'CA <ca@example.com>' }, /smtp\.from must be a mail address/],
  [{ ...smtp, username: 'a' }, /smtp: username and password_file go together/],
  [{ ...smtp, tls: 'ssl' }, /smtp\.tls must be one of starttls, tls, none/],
  [
    { ...smtp, tls: 'none', username: 'a', password_file: '/p' },
    /smtp\.tls: a password is not sent without TLS/,
  ],
  [{ ...smtp, password: 'p' }, /unknown key "smtp\.password"/],
];
for (const [given, because] of refused) {
  test(`smtp is refused: ${because.source}`, () => {
    assert.throws(() => parse({ smtp: given }), { message: because });
  });
}

test('receivers on this machine need a word of the operator', () => {
  assert.equal(parse({}).webhooks.allow_loopback, false);
  assert.throws(() => parse({ webhooks: { denied_networks: ['10.0.0.0/40'] } }), {
    message: /denied_networks/,
  });
});

const addresses: [text: string, isOne: boolean][] = [
  ['a@b', true],
  ['first.last+tag@sub.example.com', true],
  ["o'neil@example.com", true],
  ['', false],
  ['a', false],
  ['@b', false],
  ['a@', false],
  ['a@b@c', false],
  ['a b@c', false],
  ['a@b\r\nBcc: c@d', false],
  ['a@b\n', false],
  ['a,b@c', false],
  ['<a@b>', false],
  ['"a b"@c', false],
  ['a@[127.0.0.1]', false],
  ['.a@b', false],
  ['bücher@example.com', false],
  [`${'a'.repeat(65)}@b`, false],
  [`a@${'b'.repeat(64)}`, false],
  [`a@${'b.'.repeat(200)}c`, false],
];
for (const [text, isOne] of addresses) {
  test(`${JSON.stringify(text.slice(0, 40))} ${isOne ? 'is' : 'is not'} a mail address`, () => {
    assert.equal(isMailAddress(text), isOne);
  });
}
