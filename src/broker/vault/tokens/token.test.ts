import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { blake2b256 } from '../../../core/blake2b.ts';
import { describeRefusal } from '../client/words.ts';
import {
  faultOfToken,
  isSameToken,
  lastEndOf,
  listMissingCapabilities,
  planCare,
  planRenewal,
  saysDenied,
  saysNoSuchToken,
  serverOf,
  tokenHmac,
  type VaultToken,
} from './token.ts';

const fit = { orphan: true, period: 60, renewable: true, accessor: 'a' };

const looked: [change: object, fault: RegExp | undefined][] = [
  [{}, undefined],
  [{ orphan: false }, /orphan/],
  [{ period: 0 }, /periodic/],
  [{ period: undefined }, /periodic/],
  [{ period: '60' }, /periodic/],
  [{ period: 2 ** 39 }, undefined],
  [{ period: 1e300 }, /periodic/],
  [{ renewable: false }, /renewable/],
  [{ accessor: '' }, /no accessor/],
  [{ accessor: 7 }, /no accessor/],
  [{ accessor: 'a'.repeat(256) }, undefined],
  [{ accessor: 'a'.repeat(257) }, /an accessor of more than 256 characters/],
];

for (const [change, fault] of looked) {
  test(`a token with ${JSON.stringify(change)} is ${fault ? 'unfit' : 'fit'}`, () => {
    const found = faultOfToken({ ...fit, ...change });
    if (fault) assert.match(found ?? '', fault);
    else assert.equal(found, undefined);
  });
}

const all = {
  'auth/token/lookup-self': ['read'],
  'auth/token/renew-self': ['update'],
  'auth/token/revoke-self': ['create', 'update'],
  'sys/leases/renew': ['root'],
  'sys/leases/revoke': ['update'],
};

test('capabilities are found with and without an envelope around them', () => {
  assert.deepEqual(listMissingCapabilities({ data: all }), []);
  assert.deepEqual(listMissingCapabilities(all), []);
  const less = { ...all, 'sys/leases/revoke': ['deny'] };
  assert.deepEqual(listMissingCapabilities({ data: less }), ['"update" on sys/leases/revoke']);
  assert.equal(listMissingCapabilities({}).length, 5);
});

test('a token is recognised by a keyed hash, the key made of its accessor', () => {
  const expected = createHmac('sha256', blake2b256(Buffer.from('a'))).update('t');
  assert.equal(tokenHmac('t', 'a'), expected.digest('base64url'));
  assert.notEqual(tokenHmac('t', 'b'), tokenHmac('t', 'a'));
});

test('what lives some seconds is renewed with half of them left', () => {
  assert.deepEqual(planRenewal(100, 60), { renew_at: 130, expires_at: 160 });
  assert.deepEqual(planRenewal(100, 0), { renew_at: 101, expires_at: 100 });
});

const kept = {
  id: 'vt_1',
  store_id: 'csvlt_1',
  status: 'current',
  renew_at: 200,
  expires_at: 300,
  replaced_at: null,
  stored: true,
} as const;
const replaced = { status: 'maintaining', replaced_at: 10 } as const;

const cares: [
  what: string,
  change: Partial<Parameters<typeof planCare>[0]>,
  at: { is_used?: boolean; now: number },
  care: ReturnType<typeof planCare>,
][] = [
  ['of a store, before half of its time', {}, { now: 199 }, undefined],
  ['of a store, with half of its time left', {}, { now: 200 }, 'renew'],
  ['that its server refused', { status: 'revoked' }, { now: 200 }, 'renew'],
  [
    'that its server refused, before half of its time',
    { status: 'revoked' },
    { now: 199 },
    undefined,
  ],
  ['that expired', { status: 'expired' }, { now: 400 }, 'renew'],
  ['whose store is gone', { stored: false }, { now: 100 }, 'replace'],
  ['replaced, that leases hang on', replaced, { now: 250, is_used: true }, 'renew'],
  ['replaced a moment ago', replaced, { now: 129 }, undefined],
  ['replaced long enough ago', replaced, { now: 130 }, 'revoke'],
  ['replaced, whose store is gone', { ...replaced, stored: false }, { now: 130 }, 'revoke'],
  ['replaced, whose time is over', replaced, { now: 300 }, 'revoke'],
  ['replaced, expired', { ...replaced, status: 'expired' }, { now: 130 }, 'revoke'],
  ['replaced, that its server refused', { ...replaced, status: 'revoked' }, { now: 130 }, 'revoke'],
  [
    'replaced and refused, a moment ago',
    { ...replaced, status: 'revoked' },
    { now: 129 },
    undefined,
  ],
];

for (const [what, change, { is_used = false, now }, care] of cares) {
  test(`what is due for a token ${what}: ${care ?? 'nothing'}`, () => {
    assert.equal(planCare({ ...kept, ...change }, is_used, now), care);
  });
}

const YEAR = 366 * 86_400;
const lasts: [what: string, change: Partial<VaultToken>, end: number][] = [
  ['that expires later than it can have been renewed', { replaced_at: 90 }, 300],
  ['that was renewed at the moment of its replacement', { replaced_at: 250 }, 450],
  ['without a time of its own', { renew_at: 301, replaced_at: 250 }, 300],
  ['that expires within a year', { expires_at: 250 + YEAR, replaced_at: 250 }, 250 + YEAR],
  ['that never expires, after a year', { expires_at: 2 ** 39, replaced_at: 250 }, 250 + YEAR],
];

for (const [what, change, end] of lasts) {
  test(`a replaced token ${what} has ended at ${end}`, () => {
    assert.equal(lastEndOf({ ...kept, ...change }), end);
  });
}

const addressed = (address: string, tls_server_name = '') => ({ address, tls_server_name });
const HERE = addressed('https://vault.test:8200');

const places: [what: string, other: typeof HERE, isSame: boolean][] = [
  ['the same address', HERE, true],
  ['the same in capitals', addressed('HTTPS://Vault.Test:8200'), true],
  ['the same with slashes at its end', addressed('https://vault.test:8200//'), true],
  ['the same name, absolute', addressed('https://vault.test.:8200'), true],
  ['the same name in TLS, named twice', addressed(HERE.address, 'Vault.test'), true],
  ['another name', addressed('https://vault2.test:8200'), false],
  ['a name that begins like it', addressed('https://vault.test.example:8200'), false],
  ['another port', addressed('https://vault.test:8201'), false],
  ['the usual port', addressed('https://vault.test'), false],
  ['another path', addressed('https://vault.test:8200/other'), false],
  ['no TLS', addressed('http://vault.test:8200'), false],
  ['another name in TLS', addressed(HERE.address, 'other.test'), false],
];

for (const [what, other, isSame] of places) {
  test(`${what} leads to ${isSame ? 'the same server' : 'another server'}`, () => {
    assert.equal(serverOf(other) === serverOf(HERE), isSame);
  });
}

const AT_HOME = { connection: { ...HERE, token: 'text' }, token_hmac: 'a' };
const AWAY = { ...AT_HOME.connection, address: 'https://away.test' };
const moved: [what: string, now: typeof AT_HOME, isSame: boolean][] = [
  ['at the same server', AT_HOME, true],
  ['at the same server, which was set up anew', { ...AT_HOME, token_hmac: 'b' }, true],
  ['at another server by the same accessor', { ...AT_HOME, connection: AWAY }, true],
  ['at another server by another one', { connection: AWAY, token_hmac: 'b' }, false],
  [
    'of another text at the same server',
    { connection: { ...AT_HOME.connection, token: 'other' }, token_hmac: 'b' },
    false,
  ],
];

for (const [what, now, isSame] of moved) {
  test(`a token ${what} is ${isSame ? 'the one from before' : 'another one'}`, () => {
    assert.equal(isSameToken(AT_HOME, now), isSame);
  });
}

type Told = 'gone' | 'denied' | undefined;

/** What servers answer to a token: that they have none, that it may not do this or that they have none, or neither. */
const refusals: [status: number, errors: unknown, told: Told][] = [
  [403, ['2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n'], 'gone'],
  [403, ['1 error occurred:\n\t* invalid token\n\n'], 'gone'],
  [403, ['bad token'], 'gone'],
  [403, ['invalid token'], 'gone'],
  [403, ['permission denied'], 'denied'],
  [403, ['1 error occurred:\n\t* permission denied\n\n'], 'denied'],
  [403, ['request blocked by the firewall'], undefined],
  [403, ['invalid token: request blocked by the firewall'], undefined],
  [403, ['permission denied', 'request blocked by the firewall'], undefined],
  [403, ['2 errors occurred:\n\t* permission denied\n\t* timeout\n\n'], undefined],
  [
    403,
    ['3 errors occurred:\n\t* permission denied\n\t* invalid token\n\t* timeout\n\n'],
    undefined,
  ],
  [403, ['invalid token "a"'], undefined],
  [403, 'permission denied', undefined],
  [403, [], undefined],
  [400, ['invalid token'], undefined],
  [401, ['permission denied'], undefined],
  [500, ['invalid token'], undefined],
  [503, ['permission denied'], undefined],
];

for (const [status, errors, told] of refusals) {
  const said = JSON.stringify(errors);
  test(`a token of which ${status} ${said} is said is ${told ?? 'there still'}`, () => {
    const refusal = { status, words: describeRefusal(JSON.stringify({ errors })) };
    assert.equal(saysNoSuchToken(refusal), told === 'gone');
    assert.equal(saysDenied(refusal), told === 'denied');
  });
}
