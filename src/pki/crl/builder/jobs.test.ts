import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { sql } from 'kysely';
import { parseCrl } from '../../../../test/support/crl.ts';
import { eachEngine } from '../../../../test/support/engines.ts';
import { CRL_FRAME } from '../../../../test/support/list-frame.ts';
import { readingBy } from '../../../../test/support/reading-by.ts';
import { build } from '../../../store/database.ts';
import type { Store } from '../../../store/store.ts';
import { write } from '../../../store/write.ts';
import { signSync } from '../../../x509/algorithms.ts';
import { attachSignature, tbsOf } from '../../../x509/crl-assembly.ts';
import { formatSerial } from '../../../x509/serial.ts';
import { joinRevocation } from '../../mount-state/joins.store.ts';
import { insertRevocation, readRevocationState } from '../../mount-state/revocations.store.ts';
import { ALL } from '../kind.ts';
import { isWithin, rangeOf } from '../shards.ts';
import type { CrlJob, CrlScope, Past } from './job.ts';
import { makeCrl, makeUnsignedCrl, remakeCrl, type SignedCrl } from './jobs.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const public_key = publicKey.export({ format: 'der', type: 'spki' });
const sign = (tbs: Uint8Array): Uint8Array => signSync(privateKey, 'PureEd25519', tbs);
const SCOPE: CrlScope = { members: ['a'], known: null, epoch: 0, empty: false };

type Given = Partial<CrlJob> & { scope?: CrlScope; past?: Past };
const jobFor = (revision: number, given: Given = {}): CrlJob => ({
  content: {
    mount_id: 'm',
    scope: JSON.stringify(given.scope ?? SCOPE),
    revision,
    ...(given.past && { past: given.past }),
  },
  basis: given.basis,
  frame: CRL_FRAME,
  algorithm: 'PureEd25519',
  max_entries: given.max_entries ?? -1,
});

/** Revokes numbers in an order that is not theirs. */
async function revoke(store: Store, from: number, to: number, issuer_id = 'a'): Promise<void> {
  const sets = Array.from({ length: to - from }, (_, at) => {
    const number = ((from + at) * 7919) % 65_521;
    const serial = formatSerial(Uint8Array.of(1, number >> 8, number & 0xff));
    return insertRevocation('m', { serial, issuer_id, revoked_at_ms: 1e12 + at, reason: 0 });
  });
  await Promise.all(sets.map((set) => store.commit(set)));
}

const serialsOf = ({ crl }: SignedCrl): string[] =>
  [...parseCrl(crl.der).entries()].map(({ serialNumber }) => formatSerial(serialNumber));

/** The same database, and how many rows were read from it. */
function countRows(db: Store['db']): { db: Store['db']; rows(): number } {
  let count = 0;
  const counting = readingBy(db, async (_text, read) => {
    const found = await read();
    count += found.length;
    return found;
  });
  return { db: counting, rows: () => count };
}

const NAMES = ['east', 'west', 'north', ALL];
const OF_ALL: Given = { scope: { ...SCOPE, of: ALL } };
const countOf = (made: SignedCrl): number => serialsOf(made).length;

const bytesOf = ({ crl }: SignedCrl): Buffer => Buffer.from(crl.der);

eachEngine('making CRLs', (open) => {
  test('a CRL that is laid out on one thread and signed on another has the bytes of one made at once', async () => {
    const store = await open();
    await revoke(store, 0, 30);
    const { revision } = await readRevocationState(store.db, 'm');
    const whole = await makeCrl(store.db, jobFor(revision), sign);
    const layout = structuredClone(await makeUnsignedCrl(store.db, jobFor(revision)));
    const crl = attachSignature(layout, 'PureEd25519', sign(tbsOf(layout)));
    assert.deepEqual(Buffer.from(crl.der), bytesOf(whole));
    assert.equal(crl.entries_at, whole.crl.entries_at);
  });

  test('a CRL built upon an earlier one has the bytes of one built from all revocations', async () => {
    const store = await open();
    let basis: CrlJob['basis'];
    for (const [from, to] of [
      [0, 30],
      [30, 31],
      [31, 31],
      [31, 2500],
    ] as const) {
      await revoke(store, from, to);
      const { revision } = await readRevocationState(store.db, 'm');
      assert.equal(revision, to);
      const grown = await makeCrl(store.db, jobFor(revision, { basis }), sign);
      const whole = await makeCrl(store.db, jobFor(revision), sign);
      assert.equal(grown.crl.count, to);
      assert.deepEqual(bytesOf(grown), bytesOf(whole));
      basis = { ...jobFor(revision).content, crl: grown.crl };
    }
  });

  test('revoked authorities are in their place whichever way a CRL is built, and own certificates in none', async () => {
    const store = await open();
    const revoked = (at: number): string => {
      const number = (at * 7919) % 65_521;
      return formatSerial(Uint8Array.of(1, number >> 8, number & 0xff));
    };
    const authorities = ['00:01', revoked(7), revoked(1500), '02'].map(
      (one) => [one, 1e12] as const,
    );
    const scope = {
      ...SCOPE,
      authorities: authorities.toSorted(([a], [b]) => (a < b ? -1 : 1)),
      own: [revoked(3), revoked(2100), '03'],
    };
    let basis: CrlJob['basis'];
    for (const [from, to, count] of [
      // All four authorities, whether or not they are among the revocations, and none of its own.
      [0, 30, 30 - 2 + 4],
      [30, 2200, 2200 - 4 + 4],
    ] as const) {
      await revoke(store, from, to);
      const grown = await makeCrl(store.db, jobFor(to, { basis, scope }), sign);
      const whole = await makeCrl(store.db, jobFor(to, { scope }), sign);
      assert.equal(grown.crl.count, count);
      assert.deepEqual(bytesOf(grown), bytesOf(whole));
      const serials = [...parseCrl(whole.crl.der).entries()].map((one) =>
        formatSerial(one.serialNumber),
      );
      assert.deepEqual(serials, serials.toSorted());
      assert.equal(new Set(serials).size, count);
      basis = { ...jobFor(to, { scope }).content, crl: grown.crl };
    }
  });

  test('what is revoked after the revision of a CRL is not on it, whenever it is made', async () => {
    const store = await open();
    await revoke(store, 0, 10);
    const before = await makeCrl(store.db, jobFor(10), sign);
    await revoke(store, 10, 20);
    assert.deepEqual(bytesOf(await makeCrl(store.db, jobFor(10), sign)), bytesOf(before));
    const { signature } = before;
    const again = await remakeCrl(store.db, jobFor(10), { signature, public_key });
    assert.deepEqual(again && Buffer.from(again.der), bytesOf(before));
  });

  test('a CRL whose revocations have gone is not made again under its old signature', async () => {
    const store = await open();
    await revoke(store, 0, 10);
    const { signature } = await makeCrl(store.db, jobFor(10), sign);
    await store.commit([write(build.deleteFrom('pki_revocation').where('revision', '=', 5))]);
    assert.equal(await remakeCrl(store.db, jobFor(10), { signature, public_key }), undefined);
  });

  for (const revision of [3, 2000, 2001]) {
    test(`what was revoked before rows had a revision is on a CRL up to revision ${revision}`, async () => {
      const store = await open();
      await revoke(store, 0, 3);
      const early = build.updateTable('pki_revocation').set({ revision: 0 });
      await store.commit([write(early.where('revision', '<', 3))]);
      const { crl } = await makeCrl(store.db, jobFor(revision), sign);
      assert.equal(crl.count, 3);
    });
  }

  test('a CRL of another scope is nothing to build upon', async () => {
    const store = await open();
    await revoke(store, 0, 10, 'a');
    await revoke(store, 10, 15, 'b');
    await revoke(store, 15, 18, 'gone');
    const first = await makeCrl(store.db, jobFor(18), sign);
    assert.equal(first.crl.count, 10);
    const basis = { ...jobFor(18).content, crl: first.crl };
    const scopes: [scope: Partial<CrlScope>, count: number][] = [
      [{ members: ['b'] }, 5],
      [{ known: ['a', 'b'] }, 13],
      [{ epoch: 1 }, 10],
      [{ empty: true }, 0],
    ];
    for (const [changed, count] of scopes) {
      const scope = { ...SCOPE, ...changed };
      const { crl } = await makeCrl(store.db, jobFor(18, { basis, scope }), sign);
      assert.equal(crl.count, count, JSON.stringify(changed));
      assert.equal([...parseCrl(crl.der).entries()].length, count);
    }
  });

  test('a CRL has as many entries as it may, and not one more', async () => {
    const store = await open();
    await revoke(store, 0, 10);
    const most = await makeCrl(store.db, jobFor(10, { max_entries: 10 }), sign);
    await revoke(store, 10, 11);
    await assert.rejects(
      makeCrl(store.db, jobFor(11, { max_entries: 10 }), sign),
      /max_crl_entries/,
    );
    const basis = { ...jobFor(10).content, crl: most.crl };
    await assert.rejects(
      makeCrl(store.db, jobFor(11, { basis, max_entries: 10 }), sign),
      /max_crl_entries/,
    );
  });

  test('entries that are past leave a CRL, built upon one that had them or from all revocations alike', async () => {
    const store = await open();
    await revoke(store, 0, 400);
    // Of every certificate another end.
    const ends = sql<number>`1000 + revision`;
    await store.commit([write(build.updateTable('pki_revocation').set({ not_after: ends }))]);
    const steps: [past: Past, revision: number, count: number][] = [
      [{ ended_before: 0, revision: 0 }, 300, 300],
      [{ ended_before: 1101, revision: 50 }, 300, 250],
      [{ ended_before: 1101, revision: 300 }, 300, 200],
      [{ ended_before: 1201, revision: 300 }, 350, 150],
      [{ ended_before: 1399, revision: 390 }, 400, 10],
    ];
    let basis: CrlJob['basis'];
    for (const [past, revision, count] of steps) {
      const grown = await makeCrl(store.db, jobFor(revision, { basis, past }), sign);
      const whole = await makeCrl(store.db, jobFor(revision, { past }), sign);
      assert.equal(grown.crl.count, count);
      assert.deepEqual(bytesOf(grown), bytesOf(whole));
      basis = { ...jobFor(revision, { past }).content, crl: grown.crl };
    }
    const [first] = steps;
    assert.ok(first);
    const earlier = await makeCrl(store.db, jobFor(400, { basis, past: first[0] }), sign);
    assert.equal(earlier.crl.count, 400, 'nothing is built upon a CRL that has less');
  });

  test('a delta has what was revoked after its base, by revision and from all revocations alike', async () => {
    const store = await open();
    await revoke(store, 0, 30);
    const scope = { ...SCOPE, after: 10 };
    const first = await makeCrl(store.db, jobFor(20, { scope }), sign);
    assert.equal(first.crl.count, 10);
    const basis = { ...jobFor(20, { scope }).content, crl: first.crl };
    const grown = await makeCrl(store.db, jobFor(30, { scope, basis }), sign);
    assert.equal(grown.crl.count, 20);
    assert.deepEqual(bytesOf(grown), bytesOf(await makeCrl(store.db, jobFor(30, { scope }), sign)));
    const many = build.updateTable('pki_revocation').set({ revision: 200_000 });
    await store.commit([write(many.where('revision', '=', 30))]);
    const wide = await makeCrl(store.db, jobFor(200_000, { scope }), sign);
    assert.deepEqual(bytesOf(wide), bytesOf(grown));
  });

  test('a shard has the revocations of its serial numbers, built either way, and none but these are read for it', async () => {
    const store = await open();
    const all = 9000;
    await revoke(store, 0, all);
    const shard = { number: 3, count: 1024 };
    const scope = { ...SCOPE, shard };
    const complete = await makeCrl(store.db, jobFor(all), sign);
    const serials = serialsOf(complete);
    const own = serials.filter((serial) => isWithin(rangeOf(shard), serial));
    assert.ok(own.length > 500 && own.length < 2000);
    const counted = countRows(store.db);
    const whole = await makeCrl(counted.db, jobFor(all, { scope }), sign);
    assert.deepEqual(serialsOf(whole), own);
    assert.equal(counted.rows(), own.length);
    for (const revision of [500, all - 2500, all - 3]) {
      const earlier = await makeCrl(store.db, jobFor(revision, { scope }), sign);
      const basis = { ...jobFor(revision, { scope }).content, crl: earlier.crl };
      const again = countRows(store.db);
      const grown = await makeCrl(again.db, jobFor(all, { scope, basis }), sign);
      assert.deepEqual(bytesOf(grown), bytesOf(whole));
      assert.ok(again.rows() <= Math.max(own.length, 2000), `${again.rows()} rows`);
      const none = { ...scope, shard: { number: 900, count: 1024 } };
      assert.equal(
        (await makeCrl(store.db, jobFor(all, { scope: none, basis }), sign)).crl.count,
        0,
      );
    }
  });

  for (const all of [30, 2500]) {
    test(`what further clusters revoke of ${all} is on their CRLs from then on, built either way, and on none from before`, async () => {
      const store = await open();
      await revoke(store, 0, all);
      await store.commit([write(build.updateTable('pki_revocation').set({ clusters: 'east' }))]);
      const [first = '', , third = ''] = serialsOf(
        await makeCrl(store.db, jobFor(all, OF_ALL), sign),
      );
      const of = (name: string) => ({ scope: { ...SCOPE, of: name } });
      const make = (revision: number, given: Given) =>
        makeCrl(store.db, jobFor(revision, given), sign);
      const before = await Promise.all(NAMES.map((name) => make(all, of(name))));
      assert.deepEqual(before.map(countOf), [all, 0, 0, all]);
      for (const [serial, clusters, cluster] of [
        [third, 'east', 'west'],
        [third, 'east,west', 'north'],
        [first, 'east', 'west'],
      ] as const) {
        await store.commit(joinRevocation('m', { serial, clusters }, cluster));
      }
      const listed: [revision: number, counts: number[]][] = [
        [all + 1, [all, 1, 0, all]],
        [all + 2, [all, 1, 1, all]],
        [all + 3, [all, 2, 1, all]],
      ];
      for (const [at, name] of NAMES.entries()) {
        const earlier = before[at] ?? assert.fail();
        assert.deepEqual(bytesOf(await make(all, of(name))), bytesOf(earlier), name);
        const basis = { ...jobFor(all, of(name)).content, crl: earlier.crl };
        for (const [revision, counts] of listed) {
          const whole = await make(revision, of(name));
          assert.equal(countOf(whole), counts[at], name);
          assert.deepEqual(bytesOf(await make(revision, { ...of(name), basis })), bytesOf(whole));
        }
        const delta = { scope: { ...of(name).scope, after: all } };
        const added = await make(all + 3, delta);
        assert.equal(countOf(added), countOf(await make(all + 3, of(name))) - countOf(earlier));
        // Of so many revisions all revocations are read.
        assert.deepEqual(bytesOf(await make(200_000, delta)), bytesOf(added));
      }
    });
  }

  test('what a further cluster revokes is on its CRL once, though one more does so while much of it is read', async () => {
    const store = await open();
    const all = 2100;
    await revoke(store, 0, all);
    const joined_revision = sql<number>`revision + ${all}`;
    const joined = sql<string>`',west=' || (revision + ${all})`;
    const set = { clusters: 'east,west', joined, joined_revision };
    await store.commit([
      write(build.updateTable('pki_revocation').set(set)),
      write(build.updateTable('pki_revision').set({ revision: 2 * all })),
    ]);
    const scope = { ...SCOPE, of: 'west' };
    const empty = await makeCrl(store.db, jobFor(all, { scope }), sign);
    const whole = await makeCrl(store.db, jobFor(2 * all, { scope }), sign);
    assert.deepEqual([countOf(empty), countOf(whole)], [0, all]);
    const [serial = ''] = serialsOf(whole);
    let pages = 0;
    const slow = readingBy(store.db, async (text, read) => {
      if (/"joined_revision" >/.test(text)) {
        pages += 1;
        const joined = joinRevocation('m', { serial, clusters: 'east,west' }, 'north');
        if (pages === 2) await store.commit(joined);
      }
      return read();
    });
    const basis = { ...jobFor(all, { scope }).content, crl: empty.crl };
    const grown = await makeCrl(slow, jobFor(2 * all, { scope, basis }), sign);
    assert.equal(pages, 2);
    assert.deepEqual(bytesOf(grown), bytesOf(whole));
  });

  test('an entry says why, but for what nobody has said', async () => {
    const store = await open();
    const reasons = [0, 1, 4];
    for (const reason of reasons) {
      const serial = formatSerial(Uint8Array.of(7, reason + 1));
      const revocation = { serial, issuer_id: 'a', revoked_at_ms: 1e12, reason };
      await store.commit(insertRevocation('m', revocation));
    }
    for (const scope of [SCOPE, { ...SCOPE, after: 0 }]) {
      const { crl } = await makeCrl(store.db, jobFor(3, { scope }), sign);
      const told = [...parseCrl(crl.der).entries()].map(({ reason }) => reason);
      assert.deepEqual(told, [undefined, 1, 4]);
    }
  });
});
