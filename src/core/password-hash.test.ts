import assert from 'node:assert/strict';
import { argon2Sync } from 'node:crypto';
import { test } from 'node:test';
import { hashOfOld } from '../../test/support/old-hashes.ts';
import {
  hashOfNobody,
  hashPassword,
  isMadeAt,
  SALT_LENGTH,
  verifyPassword,
} from './password-hash.ts';

const COST = { memory: 19_456, passes: 2, parallelism: 1 };
const salt = new Uint8Array(SALT_LENGTH).fill(7);

test('a password is the one that was hashed, and no other is', async () => {
  const hashed = await hashPassword('Größe 🙂', salt, COST);
  assert.match(hashed, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  for (const made of [hashed, hashOfOld('Größe 🙂')]) {
    assert.ok(await verifyPassword('Größe 🙂', made));
    for (const other of ['', 'größe 🙂', 'Größe', 'Größe 🙂 ']) {
      assert.ok(!(await verifyPassword(other, made)), other);
    }
  }
});

test('the same password with another salt has another hash', async () => {
  const other = new Uint8Array(SALT_LENGTH).fill(8);
  assert.notEqual(await hashPassword('x', salt, COST), await hashPassword('x', other, COST));
});

test('what is no hash matches nothing, and neither does that of nobody', async () => {
  for (const hashed of ['', 'x', '$argon2i$v=19$m=8,t=1,p=1$AAAA$AAAA', hashOfNobody(COST)]) {
    assert.ok(!(await verifyPassword('', hashed)), hashed);
    assert.ok(!(await verifyPassword('password', hashed)), hashed);
  }
});

test('a hash is read by the cost that it tells, and another cost is told from it', async () => {
  const cheap = { memory: 64, passes: 1, parallelism: 4 };
  const hashed = await hashPassword('x', salt, cheap);
  assert.ok(await verifyPassword('x', hashed));
  assert.ok(isMadeAt(cheap, hashed));
  for (const other of [COST, { ...cheap, memory: 641 }, { ...cheap, passes: 2 }]) {
    assert.ok(!isMadeAt(other, hashed));
  }
  assert.ok(!isMadeAt(cheap, hashOfOld('x')));
});

/** What of a hash is written otherwise, so that it is none. */
const NEAR_MISSES: [what: string, change: (hashed: string) => string][] = [
  ['a blank before it', (hashed) => ` ${hashed}`],
  ['a line more', (hashed) => `${hashed}\n`],
  ['a letter less', (hashed) => hashed.slice(0, -1)],
  ['a letter more', (hashed) => `${hashed}A`],
  ['padding', (hashed) => `${hashed}=`],
  ['no tag', (hashed) => hashed.slice(0, hashed.lastIndexOf('$'))],
  ['an empty tag', (hashed) => hashed.slice(0, hashed.lastIndexOf('$') + 1)],
  ['half of it', (hashed) => hashed.slice(0, hashed.length / 2)],
  ['a letter of the salt less', (hashed) => hashed.replace(/.(?=\$[^$]*$)/, '')],
  ['another kind', (hashed) => hashed.replace('argon2id', 'argon2i').replace('scrypt', 'bcrypt')],
  ['capitals', (hashed) => hashed.replace('argon2id', 'ARGON2ID').replace('scrypt', 'SCRYPT')],
];
const ARGON2_NEAR_MISSES: typeof NEAR_MISSES = [
  ['another version', (hashed) => hashed.replace('v=19', 'v=16')],
  ['no version', (hashed) => hashed.replace('$v=19', '')],
  ['no room for its lanes', (hashed) => hashed.replace('m=64', 'm=31')],
  ['no memory', (hashed) => hashed.replace('m=64', 'm=0')],
  ['a zero before the memory', (hashed) => hashed.replace('m=64', 'm=064')],
  ['more memory than there is', (hashed) => hashed.replace('m=64', 'm=4294967295')],
  ['no pass', (hashed) => hashed.replace('t=1', 't=0')],
  ['no end of passes', (hashed) => hashed.replace('t=1', 't=4294967295')],
  ['no lane', (hashed) => hashed.replace('p=4', 'p=0')],
  ['its cost in another order', (hashed) => hashed.replace('m=64,t=1', 't=1,m=64')],
  ['a negative cost', (hashed) => hashed.replace('m=64', 'm=-64')],
];
const SCRYPT_NEAR_MISSES: typeof NEAR_MISSES = [
  ['no end of cost', (hashed) => hashed.replace('$32768$', '$1073741824$')],
  ['a cost in words', (hashed) => hashed.replace('$32768$', '$2e15$')],
];

test('a hash that is written otherwise is none, and takes no time', async () => {
  const made = await hashPassword('x', salt, { memory: 64, passes: 1, parallelism: 4 });
  const old = hashOfOld('x');
  for (const [hashed, changes] of [
    [made, [...NEAR_MISSES, ...ARGON2_NEAR_MISSES]],
    [old, [...NEAR_MISSES, ...SCRYPT_NEAR_MISSES]],
  ] as const) {
    assert.ok(await verifyPassword('x', hashed));
    for (const [what, change] of changes) {
      const changed = change(hashed);
      assert.notEqual(changed, hashed, what);
      const before = process.cpuUsage();
      assert.equal(await verifyPassword('x', changed), false, what);
      const { user, system } = process.cpuUsage(before);
      assert.ok(user + system < 30_000, `${what}: ${user + system} µs`);
    }
  }
});

const argon2Of = (cost: { memory: number; passes: number; parallelism: number }): string => {
  const tag = argon2Sync('argon2id', { message: 'x', nonce: salt, tagLength: 32, ...cost });
  const [writtenSalt, writtenTag] = [salt, tag].map((bytes) =>
    Buffer.from(bytes).toString('base64').replace(/=+$/, ''),
  );
  const { memory, passes, parallelism } = cost;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${writtenSalt}$${writtenTag}`;
};

test('a true hash of a cost beyond bounds is refused: what a row says takes neither memory nor time without end', async () => {
  const least = { memory: 64, passes: 1, parallelism: 1 };
  for (const cost of [
    { memory: 65_536, passes: 1, parallelism: 1 },
    { memory: 64, passes: 8, parallelism: 4 },
    { memory: 8, passes: 1, parallelism: 1 },
  ]) {
    assert.equal(await verifyPassword('x', argon2Of(cost)), true, JSON.stringify(cost));
  }
  for (const beyond of [{ memory: 65_537 }, { passes: 9 }, { parallelism: 5 }]) {
    const hashed = argon2Of({ ...least, ...beyond });
    assert.equal(await verifyPassword('x', hashed), false, JSON.stringify(beyond));
  }
  assert.equal(await verifyPassword('x', hashOfOld('x')), true);
  for (const other of [{ N: 2 ** 16 }, { N: 2 ** 14 }, { r: 16 }, { p: 2 }]) {
    assert.equal(await verifyPassword('x', hashOfOld('x', other)), false, JSON.stringify(other));
  }
});
