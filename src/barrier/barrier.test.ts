import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Failure } from '../core/failure.ts';
import { Barrier } from './barrier.ts';
import { KEYRING_KEY_RANDOMNESS, type KeyringRow, openKeyring, wrapKeyringKey } from './keyring.ts';

/** Counts up, so that no two calls give the same bytes. */
function countingBytes(): (length: number) => Uint8Array {
  let next = 0;
  return (length) => Uint8Array.from({ length }, () => (next++ * 31 + 7) & 0xff);
}

const randomBytes = countingBytes();
const root = () => new Uint8Array(32).fill(1);
const key = (use: KeyringRow['use'], term: number): KeyringRow =>
  wrapKeyringKey({
    root_key: root(),
    use,
    term,
    random: randomBytes(KEYRING_KEY_RANDOMNESS),
    created_at: 1000 + term,
  });
const rows = [key('hash', 0), key('data', 1)];
const place = { table: 'pki_key', column: 'private_sealed', row: 'k-1' };
const plaintext = Buffer.from('a private key');

async function unsealed(stored = rows): Promise<Barrier> {
  const barrier = new Barrier(countingBytes());
  await barrier.unseal(openKeyring(root(), stored), barrier.sealings);
  return barrier;
}

const sealedFailure = (thrown: unknown) =>
  thrown instanceof Failure &&
  thrown.kind === 'unavailable' &&
  thrown.message === 'Vault is sealed';

test('what is sealed for a place opens there', async () => {
  const barrier = await unsealed();
  const sealed = barrier.encrypt('pki-key', place, plaintext);
  assert.ok(!Buffer.from(sealed).includes(plaintext));
  assert.deepEqual(barrier.decrypt('pki-key', place, sealed), plaintext);
});

test('the same value is sealed to other bytes each time', async () => {
  const barrier = await unsealed();
  const first = barrier.encrypt('config', place, plaintext);
  assert.notDeepEqual(barrier.encrypt('config', place, plaintext), first);
});

test('what is sealed for one purpose does not open for another', async () => {
  const barrier = await unsealed();
  const sealed = barrier.encrypt('pki-key', place, plaintext);
  assert.throws(() => barrier.decrypt('config', place, sealed), /was changed/);
});

test('what is sealed for one row does not open in another', async () => {
  const barrier = await unsealed();
  const sealed = barrier.encrypt('pki-key', place, plaintext);
  assert.throws(() => barrier.decrypt('pki-key', { ...place, row: 'k-2' }, sealed), /was changed/);
});

test('bytes that are no envelope are a fault, named by their place', async () => {
  const barrier = await unsealed();
  assert.throws(
    () => barrier.decrypt('config', place, plaintext),
    /pki_key\.private_sealed of row k-1 holds no sealed value/,
  );
});

const uses: [name: string, use: (barrier: Barrier) => unknown][] = [
  ['seal', (barrier) => barrier.encrypt('config', place, plaintext)],
  ['open', (barrier) => barrier.decrypt('config', place, plaintext)],
  ['hmac', (barrier) => barrier.hmac('token', 'hvs.x')],
  ['generation', (barrier) => barrier.generation()],
  ['nextGeneration', (barrier) => barrier.nextGeneration(0)],
  ['holdsRootKey', (barrier) => barrier.holdsRootKey(root())],
];
for (const [name, use] of uses) {
  test(`${name} is refused before the server is unsealed, and after it is sealed`, async () => {
    assert.throws(() => use(new Barrier(countingBytes())), sealedFailure);
    const barrier = await unsealed();
    await barrier.seal();
    assert.equal(barrier.sealed, true);
    assert.throws(() => use(barrier), sealedFailure);
  });
}

test('sealing the server wipes the keys that it took over', async () => {
  const barrier = new Barrier(countingBytes());
  const keyring = openKeyring(root(), rows);
  const keys = [keyring.root_key, keyring.hash_key];
  for (const generation of keyring.generations.values()) keys.push(generation.key);
  await barrier.unseal(keyring, barrier.sealings);
  assert.ok(keys.every((bytes) => bytes.some((byte) => byte !== 0)));
  await barrier.seal();
  assert.ok(keys.every((bytes) => bytes.every((byte) => byte === 0)));
});

test('listeners hear of unsealing and sealing once each', async () => {
  const barrier = new Barrier(countingBytes());
  const heard: string[] = [];
  barrier.onUnseal(() => void heard.push(`unsealed: ${!barrier.sealed}`));
  barrier.onSeal(() => void heard.push(`sealed: ${barrier.sealed}`));
  await barrier.unseal(openKeyring(root(), rows), barrier.sealings);
  await barrier.unseal(openKeyring(root(), rows), barrier.sealings);
  await barrier.seal();
  await barrier.seal();
  assert.deepEqual(heard, ['unsealed: true', 'sealed: true']);
});

test('of an unsealing all listeners hear, also behind one that fails', async () => {
  const barrier = new Barrier(countingBytes());
  const heard: string[] = [];
  barrier.onUnseal(() => Promise.reject(new Error('no')));
  barrier.onUnseal(() => void heard.push('unsealed'));
  const unsealing = barrier.unseal(openKeyring(root(), rows), barrier.sealings);
  await assert.rejects(unsealing, /no/);
  assert.deepEqual(heard, ['unsealed']);
  assert.equal(barrier.sealed, false);
});

test('whoever unseals a second time waits for what the first unsealing brings about', async () => {
  const barrier = new Barrier(countingBytes());
  const { promise, resolve } = Promise.withResolvers<void>();
  const done: string[] = [];
  barrier.onUnseal(async () => {
    await promise;
    done.push('listener');
  });
  const first = barrier.unseal(openKeyring(root(), rows), barrier.sealings);
  const second = barrier
    .unseal(openKeyring(root(), rows), barrier.sealings)
    .then(() => done.push('second'));
  await Promise.resolve();
  resolve();
  await Promise.all([first, second]);
  assert.deepEqual(done, ['listener', 'second']);
  await barrier.unseal(openKeyring(root(), rows), barrier.sealings);
  assert.deepEqual(done, ['listener', 'second'], 'once done, nothing is done again');
});

test('a keyed hash is the same at every unsealing and differs by purpose and by data', async () => {
  const [barrier, again] = [await unsealed(), await unsealed()];
  const hash = barrier.hmac('token', 'hvs.x');
  assert.equal(hash.length, 32);
  assert.deepEqual(again.hmac('token', Buffer.from('hvs.x')), hash);
  assert.notDeepEqual(barrier.hmac('audit', 'hvs.x'), hash);
  assert.notDeepEqual(barrier.hmac('token', 'hvs.y'), hash);
});

test('a new generation seals from its reload on; old values and hashes stay as they are', async () => {
  const barrier = await unsealed();
  const old = barrier.encrypt('config', place, plaintext);
  const hash = barrier.hmac('token', 'hvs.x');
  const next = barrier.nextGeneration(2000);
  assert.equal(barrier.generation().term, 1);

  await barrier.reload([...rows, next]);
  assert.deepEqual(barrier.generation(), { term: 2, created_at: 2000, encryptions: 0 });
  const young = barrier.encrypt('config', place, plaintext);
  assert.equal(young[4], 2);
  assert.deepEqual(barrier.decrypt('config', place, old), plaintext);
  assert.deepEqual(barrier.decrypt('config', place, young), plaintext);
  assert.deepEqual(barrier.hmac('token', 'hvs.x'), hash);
  assert.equal(barrier.generation().encryptions, 1);
});

test('a value of a generation that this node has not loaded is a refusal to try again', async () => {
  const barrier = await unsealed();
  const elsewhere = await unsealed();
  await elsewhere.reload([...rows, elsewhere.nextGeneration(2000)]);
  const sealed = elsewhere.encrypt('config', place, plaintext);
  assert.throws(
    () => barrier.decrypt('config', place, sealed),
    (thrown) => thrown instanceof Failure && thrown.detail.retry_after === 1,
  );
});

test('a reload with nothing new keeps everything, and one while sealed does nothing', async () => {
  const barrier = await unsealed();
  barrier.encrypt('config', place, plaintext);
  await barrier.reload(rows);
  assert.equal(barrier.generation().encryptions, 1);
  await barrier.seal();
  await barrier.reload([...rows, key('data', 2)]);
  assert.equal(barrier.sealed, true);
});

test('the root key is recognised, and no other', async () => {
  const barrier = await unsealed();
  assert.equal(barrier.holdsRootKey(root()), true);
  assert.equal(barrier.holdsRootKey(new Uint8Array(32).fill(2)), false);
  assert.equal(barrier.holdsRootKey(root().subarray(1)), false);
});

test('an unsealing that began before a sealing opens nothing, and its keys are wiped', async () => {
  const barrier = await unsealed();
  const since = barrier.sealings;
  await barrier.seal();
  const late = openKeyring(root(), rows);
  assert.equal(await barrier.unseal(late, since), false);
  assert.equal(barrier.sealed, true);
  assert.ok(late.root_key.every((byte) => byte === 0));
  assert.equal(await barrier.unseal(openKeyring(root(), rows), barrier.sealings), true);
  assert.equal(barrier.sealed, false);
});

test('a sealing of a server that is sealed already holds back an unsealing all the same', async () => {
  const barrier = new Barrier(countingBytes());
  const since = barrier.sealings;
  await barrier.seal();
  assert.equal(await barrier.unseal(openKeyring(root(), rows), since), false);
});

for (const [what, listen, act] of [
  ['a sealing', 'onSeal', (barrier: Barrier) => barrier.seal()],
  ['new keys', 'onReload', (barrier: Barrier) => barrier.reload([...rows, key('data', 2)])],
] as const) {
  test(`whoever asks second for ${what} waits for what is done about it, too`, async () => {
    const barrier = await unsealed();
    const done = Promise.withResolvers<void>();
    let told = 0;
    barrier[listen](() => {
      told += 1;
      return done.promise;
    });
    const resolved: number[] = [];
    const both = [1, 2].map((at) => act(barrier).then(() => resolved.push(at)));
    await new Promise((resolve) => setTimeout(resolve, 10));
    assert.deepEqual([told, resolved], [1, []]);
    done.resolve();
    await Promise.all(both);
    assert.deepEqual(resolved.toSorted(), [1, 2]);
  });
}

test('a listener that fails keeps no other one from hearing of a sealing', async () => {
  const barrier = await unsealed();
  let told = 0;
  barrier.onSeal(() => Promise.reject(new Error('no')));
  barrier.onSeal(() => {
    told += 1;
  });
  await assert.rejects(barrier.seal(), /no/);
  assert.deepEqual([told, barrier.sealed], [1, true]);
});

test('threads that have the same keys count together what is sealed with them', async () => {
  const barrier = await unsealed();
  const handed = barrier.handOver();
  assert.ok(handed);
  const other = new Barrier(countingBytes());
  await other.follow(handed);
  for (const each of [barrier, other, other]) each.encrypt('pki-key', place, plaintext);
  assert.deepEqual([barrier.generation(), other.generation()], Array(2).fill(barrier.generation()));
  assert.equal(barrier.generation().encryptions, 3);
  await barrier.reload([...rows, key('data', 2)]);
  assert.equal(barrier.generation().encryptions, 0);
  // Until it has the new ones, too.
  assert.equal(other.generation().encryptions, 3);
  const next = barrier.handOver();
  assert.ok(next);
  await other.follow(next);
  assert.deepEqual(other.generation(), barrier.generation());
});

test('nothing is sealed with new keys until the last thread has them, and then by all of them', async () => {
  const barrier = await unsealed();
  const handed = () => barrier.handOver() ?? assert.fail('it is sealed');
  const [early, late] = [new Barrier(countingBytes()), new Barrier(countingBytes())];
  for (const other of [early, late]) await other.follow(handed());
  const all = [barrier, early, late];
  const given = Promise.withResolvers<void>();
  barrier.onReload(async () => {
    await early.follow(handed());
    await given.promise;
    await late.follow(handed());
  });
  const reloading = barrier.reload([...rows, key('data', 2)]);
  await setImmediate();
  // One that begins meanwhile.
  const begun = new Barrier(countingBytes());
  await begun.follow(handed());
  for (const from of [...all, begun]) {
    const sealed = from.encrypt('config', place, plaintext);
    for (const other of [...all, begun]) {
      assert.deepEqual(other.decrypt('config', place, sealed), plaintext);
    }
  }
  assert.equal(late.generation().encryptions, all.length + 1);
  given.resolve();
  await reloading;
  for (const other of [...all, begun]) {
    assert.equal(other.encrypt('config', place, plaintext)[4], 2);
    assert.equal(other.generation().term, 2);
  }
});
