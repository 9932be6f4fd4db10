import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import { concealSecrets, concealSegments, concealTokens } from './conceal.ts';

const LETTERS = 'AbCdEfGhIjKlMnOpQrStUvWx';
const BASE58 = 'AbCdEfGhJjKkMnPpQrStUvWxYz1234';
const SERVICE = `hvs.${LETTERS}`;
const BROKER = `at_1234567890_s1${LETTERS}${LETTERS}`;

const conceal = (value: unknown): unknown =>
  JSON.parse(concealTokens(JSON.stringify(value), (token) => `<${token.length}>`));

const concealed: [value: string, stands: string, why: string][] = [
  [SERVICE, '<28>', 'a service token'],
  [`hvb.${LETTERS}-_${LETTERS}`, '<54>', 'a batch token'],
  [`hvr.${LETTERS}`, '<28>', 'a recovery token'],
  [`neslat_${BASE58.repeat(2)}`, '<67>', 'an activation token of a worker'],
  [`neslat_${BASE58}`, `neslat_${BASE58}`, 'no token but its beginning'],
  [`s.${LETTERS}`, '<26>', 'a service token of old'],
  [`b.${LETTERS}`, '<26>', 'a batch token of old'],
  [BROKER, `at_1234567890_<${BROKER.length}>`, 'a token of the broker, its id told'],
  [`identity/entity/id/${SERVICE}`, 'identity/entity/id/<28>', 'the end of a path'],
  [
    `targets/${SERVICE}:authorize-session`,
    'targets/<28>:authorize-session',
    'an id with an action',
  ],
  [`targets/s.${LETTERS}:read`, 'targets/<26>:read', 'an id of old with an action'],
  [`unknown role "${SERVICE}"`, 'unknown role "<28>"', 'a token in quotes'],
  [`a\n${SERVICE}\tb`, 'a\n<28>\tb', 'a token between escapes'],
  [`x${SERVICE}`, 'x<28>', 'a token with something before it'],
  [`${SERVICE},${SERVICE}`, '<28>,<28>', 'two tokens'],
  [`${SERVICE}.${LETTERS}`, `<28>.${LETTERS}`, 'a token with a dot after it'],
];

for (const [value, stands, why] of concealed) {
  test(`a record has no token: ${why}`, () => {
    assert.deepEqual(conceal({ data: { [value]: [value] } }), { data: { [stands]: [stands] } });
  });
}

const kept = [
  'hvs.policy',
  'hvac.example.com',
  `nodes.${LETTERS}.example.com`,
  `s.${LETTERS}.example.com`,
  `web-s.${LETTERS}`,
  'at_1234567890',
  'flat_application1_prod',
  `${LETTERS}`,
  '7f0c9a52-6f0e-4cb0-8a38-6a7a3ec7d8b1',
  `hmac-sha256:${'0a'.repeat(32)}`,
];

for (const value of kept) {
  test(`a record keeps what is no token: ${value}`, () => {
    assert.deepEqual(conceal({ data: value, path: `x/${value}` }), {
      data: value,
      path: `x/${value}`,
    });
  });
}

const PEM = `-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2Vw+/${'Ab'.repeat(90)}\n-----END PRIVATE KEY-----\n`;
const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n';
const LEFT = '-----BEGIN PRIVATE KEY-----#';
const KEY = `${LEFT}\n-----END PRIVATE KEY-----`;
const MARK = '-----BEGIN PRIVATE KEY-----';
const BODY = 'Ab'.repeat(12);

const withKeys: [sent: string, stands: string, why: string][] = [
  [PEM, `${KEY}\n`, 'a key'],
  [
    PEM.replaceAll('PRIVATE', 'RSA PRIVATE'),
    `${KEY.replaceAll('PRIVATE', 'RSA PRIVATE')}\n`,
    'an older form',
  ],
  [
    PEM.replaceAll('PRIVATE', 'ENCRYPTED PRIVATE'),
    `${KEY.replaceAll('PRIVATE', 'ENCRYPTED PRIVATE')}\n`,
    'one that is encrypted',
  ],
  [
    PEM.replace('-----\n', '-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n'),
    `${MARK}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n#\n-----END PRIVATE KEY-----\n`,
    'one that is encrypted, of old, of which header lines are told',
  ],
  [`${PEM}${CERTIFICATE}`, `${KEY}\n${CERTIFICATE}`, 'a bundle, of which the rest is told'],
  [`${CERTIFICATE}${PEM}${PEM}`, `${CERTIFICATE}${KEY}\n${KEY}\n`, 'two keys at the end'],
  [PEM.slice(0, 90), LEFT, 'one that is cut off'],
  [PEM.replaceAll('\n', '\r\n'), `${KEY.replace('\n', '\r\n')}\r\n`, 'other line ends'],
  [PEM.replaceAll('\n', ' '), `${KEY.replace('\n', ' ')} `, 'blanks for line ends'],
  [JSON.stringify({ key: PEM }), JSON.stringify({ key: `${KEY}\n` }), 'one within JSON'],
  [`no "${PEM}" here`, `no "${KEY}\n" here`, 'one in quotes'],
  [`${MARK}${BODY}`, LEFT, 'as little as is taken for one'],
  [`${MARK}${BODY.slice(1)}`, `${MARK}${BODY.slice(1)}`, 'less than that, which is told'],
  [`${MARK},admin`, `${MARK},admin`, 'a list after the words, which is told'],
  [`${MARK}${BODY},admin`, `${LEFT},admin`, 'and after a key'],
  [
    `# ${MARK}\npath "*" { capabilities = ["sudo"] }`,
    `# ${MARK}\npath "*" { capabilities = ["sudo"] }`,
    'a policy after the words, which is told',
  ],
  [`${MARK}boss`, `${MARK}boss`, 'a name after the words, which is told'],
  [CERTIFICATE, CERTIFICATE, 'a certificate, which is told'],
  ['-----BEGIN PUBLIC KEY-----', '-----BEGIN PUBLIC KEY-----', 'a public key, which is told'],
];

for (const [sent, stands, why] of withKeys) {
  test(`a record has no private key: ${why}`, () => {
    const record = { data: { [sent]: [sent, { error: sent }] }, after: 'x' };
    const read = JSON.parse(concealSecrets(JSON.stringify(record), () => '#'));
    assert.deepEqual(read, { data: { [stands]: [stands, { error: stands }] }, after: 'x' });
  });
}

const notHidden: string[] = [
  '# ://a:\npath\t"*"\t{}\npath\t"x@y"\t{}',
  'x://a:,admin,@y',
  'https://a,admin,@y',
];
for (const text of notHidden) {
  test(`a URL hides nothing that is no part of one: ${JSON.stringify(text)}`, () => {
    assert.equal(JSON.parse(concealSecrets(JSON.stringify(text), () => '#')), text);
  });
}

test('thousands of beginnings of keys take no longer than their length', async () => {
  const text = JSON.stringify(`${MARK}${BODY}-`.repeat(20_000));
  await spendsAtMost(500, () => {
    assert.ok(!concealSecrets(text, () => '#').includes(BODY));
  });
});

const RUN = 'Zb7'.repeat(67).slice(0, 200);
const besides = ['', 'x-', '-'.repeat(150), 'a'.repeat(60).concat('.'), '"'.repeat(199)];

for (const before of besides) {
  test(`a text of 200 letters and digits is concealed wherever it begins: ${before.length} before`, () => {
    const hash = (token: string): string => `<${token.length}>`;
    for (const after of ['', '-', '.'.repeat(300)]) {
      assert.equal(concealTokens(`${before}${RUN}${after}`, hash), `${before}<200>${after}`);
      const short = `${before}${RUN.slice(1)}${after}`;
      assert.equal(concealTokens(short, hash), short, 'of 199 it is not');
    }
  });
}

test('a run of 200 is found at each place', () => {
  for (let at = 0; at < 450; at++) {
    const text = `${'.'.repeat(at)}${RUN}${'.'.repeat(450 - at)}`;
    assert.notEqual(
      concealTokens(text, () => ''),
      text,
      `at ${at}`,
    );
  }
});

const tokens = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `hvs.${String(at).padStart(24, 'A')}`);

test('each of 1024 tokens of a record has its hash, and those beyond have one together', () => {
  const all = tokens(1_027);
  const told: unknown = JSON.parse(concealTokens(JSON.stringify(all), (token) => `<${token}>`));
  assert.deepEqual(told, [
    ...all.slice(0, 1_024).map((token) => `<${token}>`),
    `<${all.slice(1_024).join()}>`,
    '…',
    '…',
  ]);
});

test('a token that a record has many times is hashed once, and is there each time', () => {
  let hashed = 0;
  const text = JSON.stringify(Array(10_000).fill(SERVICE));
  const told = concealTokens(text, () => `<${++hashed}>`);
  assert.equal(told, JSON.stringify(Array(10_000).fill('<1>')));
});

test('a megabyte of tokens takes few hashes, and no longer than its length', () => {
  const text = JSON.stringify(tokens(33_000));
  assert.ok(text.length > 1_000_000);
  const key = Buffer.alloc(32, 1);
  const before = process.cpuUsage();
  const told = concealSecrets(text, (token) =>
    createHmac('sha256', key).update(token).digest('hex'),
  );
  const { user } = process.cpuUsage(before);
  assert.doesNotMatch(told, /hvs/);
  assert.ok(user < 500_000, `${user} us`);
});

const segments: [path: string, template: string, stands: string][] = [
  ['auth/up/login/ann', '/v1/auth/{mount}/login/{username}', 'auth/up/login/#'],
  ['auth/a/b/login/ann', '/v1/auth/{mount}/login/{username}', 'auth/a/b/login/#'],
  ['auth/ann/login/ann', '/v1/auth/{mount}/login/{username}', 'auth/ann/login/#'],
  [
    'auth/up/users/ann/password',
    '/v1/auth/{mount}/users/{username}/password',
    'auth/up/users/#/password',
  ],
  ['auth/up/login', '/v1/auth/{mount}/login', 'auth/up/login'],
];

for (const [path, template, stands] of segments) {
  test(`of ${path} under ${template} the parameter is hashed and nothing else`, () => {
    assert.equal(
      concealSegments(path, template, ['username'], () => '#'),
      stands,
    );
  });
}
