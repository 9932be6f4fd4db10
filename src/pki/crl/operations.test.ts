import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, testCaller } from '../../../test/support/app.ts';
import { type Crl, isCrlSignedBy, parseCrl } from '../../../test/support/crl.ts';
import { asNode, makeIssuer, makeRoot, revokeNumbers } from '../../../test/support/crl-mounts.ts';
import { eachPlace } from '../../../test/support/engines.ts';
import { signInTurn } from '../../access/concurrency/signatures.operations.ts';
import type { App } from '../../app/app.ts';
import type { Mount } from '../../app/mount.ts';
import { doFor } from '../../core/fairness/asking.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { build } from '../../store/database.ts';
import { write } from '../../store/write.ts';
import { readMountState } from '../mount-state/operations.ts';
import type { CrlPatch } from './config.ts';
import { readCrl } from './operations.ts';
import { rotateCrls } from './rotation.operations.ts';
import { writeCrlConfig } from './settings.operations.ts';

const revoke = (app: App, mount: Mount, issuer_id: string, from: number, to: number) =>
  revokeNumbers(app, mount, { issuer_id, from, to });

async function read(app: App, mount: Mount): Promise<Crl> {
  const crl = await readCrl(app, mount.id, 'default');
  assert.ok(crl);
  return parseCrl(crl.der);
}

const countOf = (crl: Crl): number => [...crl.entries()].length;

/** CRLs of a mount that are due at once, besides that of its first issuer. */
const MORE = 12;

/** Takes all turns of signatures, and hands back what gives them back. */
function holdSignatures(app: App, mount: Mount): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  const hold = () =>
    signInTurn(app, testCaller(mount), { key_type: 'rsa', key_bits: 2048 }, () => promise);
  void Promise.all([hold(), hold()]);
  return resolve;
}

const LATE = { expiry: '1h', auto_rebuild: true, auto_rebuild_grace_period: '3599s' };
const AGES: [config: CrlPatch, seconds: number, isAnother: boolean, why: string][] = [
  [{ expiry: '2s' }, 29, false, 'it has run out, and is served for half a minute all the same'],
  [{ expiry: '2s' }, 30, true, 'it has run out'],
  [{ expiry: '90s' }, 44, false, 'half of its time is not over'],
  [{ expiry: '90s' }, 45, true, 'half of its time is over'],
  [LATE, 29, false, 'nearly all of its time is grace, and it is younger than half a minute'],
  [LATE, 30, true, 'it is half a minute old, and its grace has begun'],
  [{ ...LATE, auto_rebuild_grace_period: '10m' }, 2_999, false, 'its grace has not begun'],
  [{ ...LATE, auto_rebuild_grace_period: '10m' }, 3_000, true, 'its grace has begun'],
];

/** More than are made on the calling thread. */
const MANY = 1500;
const RESTARTS: [count: number, key_type: string][] = [
  [3, 'ec'],
  [MANY, 'ec'],
  [MANY, 'mldsa'],
];

eachPlace('CRLs', (newPlace, engine) => {
  test('a long CRL is made on its own thread, and signed by its issuer', async (t) => {
    const place = await newPlace();
    const { app: plain } = await openTestApp(await place.open());
    const closers: (() => Promise<void> | void)[] = [];
    const app: App = { ...plain, onClose: (close) => closers.push(close) };
    t.after(async () => {
      for (const close of closers) await close();
    });
    const { mount, issuer_id } = await makeIssuer(app);
    await revoke(app, mount, issuer_id, 0, MANY);
    const first = await read(app, mount);
    assert.equal(countOf(first), MANY);
    await revoke(app, mount, issuer_id, MANY, MANY + 1);
    const second = await read(app, mount);
    assert.equal(countOf(second), MANY + 1);
    assert.ok((second.crlNumber ?? 0n) > (first.crlNumber ?? 0n));
    const { issuers } = await readMountState(app, mount.id);
    const issuer = issuers.get(issuer_id);
    assert.ok(issuer && isCrlSignedBy(second, issuer.certificate.subjectPublicKeyInfo));

    await writeCrlConfig(app, testCaller(mount), { max_crl_entries: MANY });
    await revoke(app, mount, issuer_id, MANY + 1, MANY + 2);
    assert.equal(
      (await read(app, mount)).crlNumber,
      second.crlNumber,
      'the last one stays in force',
    );
    await assert.rejects(rotateCrls(app, testCaller(mount)), /more than max_crl_entries/);
    await app.barrier.seal();
    await assert.rejects(read(app, mount), { kind: 'unavailable' });
  });

  test('a CRL that was too long is not collected to be refused again, till its most is another', async () => {
    const { app } = await openTestApp(await (await newPlace()).open());
    const { mount, issuer_id } = await makeIssuer(app);
    const allow = (max_crl_entries: number) =>
      writeCrlConfig(app, testCaller(mount), { max_crl_entries });
    await allow(2);
    await revoke(app, mount, issuer_id, 0, 3);
    await assert.rejects(read(app, mount), /more than max_crl_entries/);
    // Whoever collected them would find none.
    await app.store.commit([write(build.deleteFrom('pki_revocation'))]);
    await assert.rejects(read(app, mount), /more than max_crl_entries \(2\)/);
    await allow(3);
    assert.equal(countOf(await read(app, mount)), 0);
  });

  test('a CRL that was too long is tried again after ten minutes, when some of it may have gone', async () => {
    const { app, clock } = await openTestApp(await (await newPlace()).open());
    const { mount, issuer_id } = await makeIssuer(app);
    const max_crl_entries = 2;
    await writeCrlConfig(app, testCaller(mount), { max_crl_entries });
    await revoke(app, mount, issuer_id, 0, 3);
    await assert.rejects(read(app, mount), /more than max_crl_entries/);
    await app.store.commit([write(build.deleteFrom('pki_revocation').where('revision', '=', 3))]);
    clock.now += 599;
    await assert.rejects(read(app, mount), /more than max_crl_entries/);
    clock.now += 1;
    assert.equal(countOf(await read(app, mount)), 2);
  });

  for (const [count, key_type] of RESTARTS) {
    test(`after a restart the CRL of ${count} entries is the same, byte for byte, and not built anew: ${key_type}`, async () => {
      const place = await newPlace();
      const store = await place.open();
      const { app, clock } = await openTestApp(store);
      const { mount, issuer_id } = await makeIssuer(app, { key_type });
      await revoke(app, mount, issuer_id, 0, count);
      const before = await readCrl(app, mount.id, 'default');
      clock.now += 60;
      await store.close();
      const restarted = asNode(app, await place.open());
      const after = await readCrl(restarted, mount.id, 'default');
      assert.equal(after?.number, before?.number);
      assert.deepEqual(Buffer.from(after?.der ?? []), Buffer.from(before?.der ?? []));
    });
  }

  test('what was revoked before a crash, with no CRL built, is on the first CRL read after it', async () => {
    const place = await newPlace();
    const store = await place.open();
    const { app } = await openTestApp(store);
    const { mount, issuer_id } = await makeIssuer(app);
    await revoke(app, mount, issuer_id, 0, 2);
    assert.equal(countOf(await read(app, mount)), 2);
    await revoke(app, mount, issuer_id, 2, 5);
    await store.close();
    const restarted = asNode(app, await place.open());
    assert.equal(countOf(await read(restarted, mount)), 5);
  });

  test('a CRL that cannot be signed, as its key does not open, keeps no other from being built anew', async () => {
    const { app, clock } = await openTestApp(await (await newPlace()).open());
    const { mount, issuer_id } = await makeIssuer(app);
    await makeRoot(app, mount, { exported: 'internal', common_name: 'S', key_type: 'ec' });
    const { issuers } = await readMountState(app, mount.id);
    const [first, second] = [...issuers.values()];
    assert.ok(first && second && [first.id, second.id].includes(issuer_id));
    const numbersOf = () =>
      Promise.all(
        [first, second].map(async ({ id }) => (await readCrl(app, mount.id, id))?.number),
      );
    const before = await numbersOf();
    const broken = build.updateTable('pki_key').set({ private_key_sealed: Uint8Array.of(1) });
    await app.store.commit([write(broken.where('id', '=', first.key_id)), bumpConfigVersion()]);
    clock.now += 60;
    await assert.rejects(rotateCrls(app, testCaller(mount)), /no sealed value/);
    const after = await numbersOf();
    assert.equal(after[0], before[0]);
    assert.notEqual(after[1], before[1]);
  });

  test('a number is never given twice, even if the clock goes back', async () => {
    const { app, clock } = await openTestApp(await (await newPlace()).open());
    const { mount } = await makeIssuer(app);
    const numbers: bigint[] = [];
    for (const step of [0, 60, -3600, 0, 0]) {
      clock.now += step;
      await rotateCrls(app, testCaller(mount));
      numbers.push((await read(app, mount)).crlNumber ?? 0n);
    }
    for (const [at, number] of numbers.entries()) {
      assert.ok(at === 0 || number > (numbers[at - 1] ?? 0n), numbers.join());
    }
  });

  test('many who read at once get one CRL, and it has what was revoked before they asked', async () => {
    const { app } = await openTestApp(await (await newPlace()).open());
    const { mount, issuer_id } = await makeIssuer(app);
    const numbers = new Set<bigint | undefined>();
    for (let round = 1; round <= 5; round++) {
      await revoke(app, mount, issuer_id, round * 10, round * 10 + 10);
      const crls = await Promise.all(Array.from({ length: 10 }, () => read(app, mount)));
      for (const crl of crls) {
        assert.ok(countOf(crl) >= round * 10);
        numbers.add(crl.crlNumber);
      }
    }
    assert.ok(numbers.size <= 10, `${numbers.size} CRLs for five rounds`);
  });

  for (const [config, seconds, isAnother, why] of AGES) {
    const said = `${JSON.stringify(config)} after ${seconds} s`;
    test(`${said}: ${why}`, async () => {
      const { app, clock } = await openTestApp(await (await newPlace()).open());
      const { mount } = await makeIssuer(app);
      await writeCrlConfig(app, testCaller(mount), config);
      const before = await readCrl(app, mount.id, 'default');
      clock.now += seconds;
      const after = await readCrl(app, mount.id, 'default');
      assert.equal(after?.number !== before?.number, isAnother);
    });
  }

  test('a CRL that runs out sooner than it is made is made once for who reads it', async () => {
    const { app, clock } = await openTestApp(await (await newPlace()).open());
    const { mount } = await makeIssuer(app);
    await writeCrlConfig(app, testCaller(mount), { expiry: '2s' });
    const now = (): number => {
      clock.now += 60;
      return clock.now * 1000;
    };
    const slow: App = { ...app, now };
    const first = await readCrl(slow, mount.id, 'default');
    const second = await readCrl(slow, mount.id, 'default');
    assert.ok(first && second && second.number > first.number);
  });

  test('a CRL waits for its turn of signatures, which takes long, and for few of another mount', async () => {
    const { app } = await openTestApp(await (await newPlace()).open());
    const { mount: large } = await makeIssuer(app, { key_type: 'rsa' });
    const { mount: other } = await makeIssuer(app, { key_type: 'rsa' });
    const { mount: quick } = await makeIssuer(app);
    const { defaults } = await readMountState(app, large.id);
    for (let at = 0; at < MORE; at++) {
      const body = { exported: 'existing', common_name: `R${at}`, key_ref: defaults.default_key };
      await makeRoot(app, large, body);
    }
    const release = holdSignatures(app, large);
    const order: string[] = [];
    const ask = (mount: Mount, ref: string, name: string): Promise<unknown> =>
      doFor('192.0.2.1', () => readCrl(app, mount.id, ref)).then(() => order.push(name));
    const { issuers } = await readMountState(app, large.id);
    const asked = [...issuers.keys()].map((id) => ask(large, id, 'one of many'));
    asked.push(ask(other, 'default', 'other'));
    await ask(quick, 'default', 'quick');
    // So many CRLs that wait for nobody are made meanwhile.
    for (let crl = 0; crl < 30; crl++) await rotateCrls(app, testCaller(quick));
    assert.deepEqual(order, ['quick']);
    release();
    await Promise.all(asked);
    assert.ok(order.indexOf('other') <= 4, order.join());
  });

  if (engine === 'postgres') {
    test('two nodes that build at the same time publish one CRL, and both serve it', async () => {
      const place = await newPlace();
      const { app: one } = await openTestApp(await place.open('one'));
      const { mount, issuer_id } = await makeIssuer(one);
      const two = asNode(one, await place.open('two'));
      let last = 0n;
      for (let round = 0; round < 10; round++) {
        await revoke(round % 2 === 0 ? one : two, mount, issuer_id, round * 3, round * 3 + 3);
        const crls = await Promise.all([one, two, one, two].map((app) => read(app, mount)));
        for (const crl of crls) assert.equal(countOf(crl), round * 3 + 3);
        const [a, b] = [
          await readCrl(one, mount.id, 'default'),
          await readCrl(two, mount.id, 'default'),
        ];
        assert.equal(a?.number, b?.number);
        assert.deepEqual(Buffer.from(a?.der ?? []), Buffer.from(b?.der ?? []));
        const number = BigInt(a?.number ?? 0);
        assert.ok(number > last);
        last = number;
      }
    });
  }
});
