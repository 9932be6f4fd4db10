import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../core/failure.ts';
import { type CertificateRequest, planCertificate } from './plan.ts';
import { roleSchema } from './role.ts';

const NOW = 1_795_262_400;
const key = { blob: Buffer.from('a key') };
const context = {
  role_name: 'ops',
  display_name: 'ann',
  now: NOW,
  serial: 9n,
  default_ttl: 3600,
  max_ttl: 7200,
};
const request: CertificateRequest = {
  valid_principals: '',
  cert_type: 'user',
  ttl: 0,
  key_id: '',
  critical_options: {},
  extensions: {},
};
const plan = (role: object, asked: Partial<CertificateRequest> = {}) =>
  planCertificate(
    roleSchema.parse({
      key_type: 'ca',
      allow_user_certificates: true,
      default_user: 'ann',
      ...role,
    }),
    key,
    { ...request, ...asked },
    context,
  );

const HOSTS = { allow_host_certificates: true, allowed_domains: 'example.com' };
const host = (valid_principals: string): Partial<CertificateRequest> => ({
  cert_type: 'host',
  valid_principals,
});

const cases: [
  role: object,
  asked: Partial<CertificateRequest>,
  refused: RegExp | false,
  why: string,
][] = [
  [{}, {}, false, 'the default user where none is named'],
  [{ default_user: '' }, {}, /empty valid principals/, 'nobody at all'],
  [{}, { valid_principals: ' , ' }, false, 'names of nothing are none'],
  [{}, { valid_principals: 'bob' }, /bob is not a valid value/, 'somebody who is not listed'],
  [{ allowed_users: 'bob,eve' }, { valid_principals: 'bob' }, false, 'somebody who is listed'],
  [{ allowed_users: 'bob' }, { valid_principals: 'ann,bob' }, false, 'the default user besides'],
  [
    { allowed_users: 'bob' },
    { valid_principals: 'bob,eve' },
    /eve is not/,
    'one of two who is not listed',
  ],
  [{ allowed_users: 'bob' }, { valid_principals: 'Bob' }, /Bob is not/, 'other letters'],
  [{ allowed_users: '*' }, { valid_principals: 'root' }, false, 'anybody'],
  [
    { allowed_users: 'b*' },
    { valid_principals: 'bob' },
    /bob is not/,
    'a star among letters is a letter',
  ],
  [{ allow_user_certificates: false }, {}, /"user" is not allowed/, 'users where none are signed'],
  [{}, host('a.example.com'), /"host" is not allowed/, 'hosts where none are signed'],
  [HOSTS, host('a.example.com'), /a\.example\.com is not/, 'a host beneath a domain'],
  [
    { ...HOSTS, allow_subdomains: true },
    host('A.Example.com'),
    false,
    'the same, where that is allowed',
  ],
  [
    { ...HOSTS, allow_subdomains: true },
    host('example.com'),
    /example\.com is not/,
    'the domain itself',
  ],
  [{ ...HOSTS, allow_subdomains: true }, host('xexample.com'), /is not/, 'a look-alike'],
  [{ ...HOSTS, allow_subdomains: true }, host('*.example.com'), /is not/, 'a pattern of hosts'],
  [
    { ...HOSTS, allow_bare_domains: true },
    host('example.com'),
    false,
    'the domain, where that is allowed',
  ],
  [{ ...HOSTS, allowed_domains: '*' }, host('anything'), false, 'any host'],
  [{ ...HOSTS, allowed_domains: '*' }, host('*.example'), /is not/, 'a pattern where any host is'],
  [{ ...HOSTS, allowed_domains: '*' }, host('a b'), /is not/, 'two words where any host is'],
  [
    { ...HOSTS, allow_subdomains: true, allowed_domains: 'bank.example' },
    host('a.ban\u212a.example'),
    /is not/,
    'a Kelvin sign, which is a k in small letters',
  ],
  [{ allowed_users: '*' }, { valid_principals: 'root\0x' }, /control character/, 'a zero byte'],
  [{ allowed_users: '*' }, { valid_principals: 'a\nb' }, /control character/, 'two lines'],
  [{ allowed_users: '*' }, { valid_principals: 'grüße' }, false, 'a name that is no ASCII'],
  [
    { allow_user_key_ids: true },
    { key_id: 'a\nb' },
    /key_id: it has a control/,
    'a key id of two lines',
  ],
  [HOSTS, host(''), /empty valid principals/, 'no host at all'],
  [{}, { ttl: 7200 }, false, 'as long as may be'],
  [{}, { ttl: 7201 }, /larger than maximum allowed 7200/, 'a second longer'],
  [{ max_ttl: 60 }, { ttl: 61 }, /larger than maximum allowed 60/, 'longer than the role has it'],
  [
    { max_ttl: 9000 },
    { ttl: 7201 },
    /larger than maximum allowed 7200/,
    'longer than the mount has it',
  ],
  [{}, { key_id: 'mine' }, /setting key_id is not allowed/, 'a key id'],
  [{ allow_user_key_ids: true }, { key_id: 'mine' }, false, 'a key id, where that is allowed'],
  [{}, { critical_options: { 'force-command': 'id' } }, false, 'critical options, none listed'],
  [
    { allowed_critical_options: 'source-address' },
    { critical_options: { 'force-command': 'id' } },
    /\[force-command\]/,
    'one that is not listed',
  ],
  [{}, { extensions: { 'permit-pty': '' } }, /\[permit-pty\]/, 'extensions, none listed'],
  [
    { allowed_extensions: 'permit-pty' },
    { extensions: { 'permit-pty': '' } },
    false,
    'one that is listed',
  ],
  [{ allowed_extensions: '*' }, { extensions: { 'permit-x@example': '' } }, false, 'any extension'],
];

for (const [role, asked, refused, why] of cases) {
  test(`a role ${refused ? 'refuses' : 'signs'}: ${why}`, () => {
    if (!refused) assert.ok(plan(role, asked));
    else {
      assert.throws(
        () => plan(role, asked),
        (error) => {
          assert.ok(error instanceof Failure && error.kind === 'invalid');
          assert.match(error.message, refused);
          return true;
        },
      );
    }
  });
}

test('a certificate is valid from before it is made, as long as the role or the mount has it', () => {
  const times = (role: object, asked = {}) => {
    const { valid_after, valid_before } = plan(role, asked);
    return [Number(valid_after) - NOW, Number(valid_before) - NOW];
  };
  assert.deepEqual(times({}), [-30, 3600]);
  assert.deepEqual(times({ ttl: 60, not_before_duration: 5 }), [-5, 60]);
  assert.deepEqual(times({ ttl: 60 }, { ttl: 90 }), [-30, 90]);
  assert.deepEqual(times({ max_ttl: 10 }), [-30, 10]);
  // No time is before the first one.
  assert.deepEqual(times({ ttl: 60, not_before_duration: '100000d' }), [-NOW, 60]);
});

test('a key id is filled in, and what is unknown in it stays', () => {
  const id = (key_id_format: string): string => plan({ key_id_format }).key_id;
  assert.match(id(''), /^vault-ann-[0-9a-f]{64}$/);
  assert.equal(id('{{role_name}}/{{ token_display_name }}'), 'ops/ann');
  assert.equal(id('{{constructor}}'), '{{constructor}}');
});

test('what a request sets takes the place of what the role has', () => {
  const role = {
    default_extensions: { 'permit-pty': '' },
    allowed_extensions: '*',
    default_critical_options: { 'source-address': '10.0.0.0/8' },
  };
  assert.deepEqual(plan(role).extensions, { 'permit-pty': '' });
  assert.deepEqual(plan(role).critical_options, { 'source-address': '10.0.0.0/8' });
  const asked = {
    extensions: { 'permit-user-rc': '' },
    critical_options: { 'force-command': 'id' },
  };
  assert.deepEqual(plan(role, asked).extensions, { 'permit-user-rc': '' });
  assert.deepEqual(plan(role, asked).critical_options, { 'force-command': 'id' });
});
