// What a rekeying leaves in the database: nothing that the shares it replaced would open, however it went.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { findSeal } from '../../src/seal/store.ts';
import { backUp } from '../../src/store/backup.ts';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { eachPlace } from '../support/engines.ts';
import { newDirectory } from '../support/node-process.ts';
import { must } from '../support/racing.ts';
import {
  almostVerified,
  authorise,
  begin,
  besides,
  give,
  installRekeying,
  NEVER,
  put,
  type RekeyingBench,
  rekeyOn,
  sharesOf,
} from '../support/rekeying.ts';
import { type Client, startTestServer } from '../support/server.ts';

interface Way {
  name: string;
  /** Replaces the shares; answers those in force then. */
  replace(bench: RekeyingBench): Promise<string[]>;
}

async function verified({ b, path }: RekeyingBench, shares: readonly string[]): Promise<string[]> {
  const { made, nonce } = await almostVerified(b, path, shares);
  const shown = await must(give(b, `${path}/verify`, made, nonce));
  assert.equal(shown.field('complete'), true, shown.text);
  return made;
}

/** New shares that are stored beside those in force. */
async function unconfirmed(bench: RekeyingBench): Promise<string[]> {
  const { b, path, shares } = bench;
  b.second.push(...NEVER);
  const done = await must(rekeyOn(b, path, shares));
  b.second.length = 0;
  assert.match(done.text, /did not confirm/);
  assert.deepEqual(await besides(b), [{ generation: 2 }], 'both seals are there');
  return sharesOf(done);
}

const WAYS: Way[] = [
  {
    name: 'a rekeying',
    replace: async ({ b, path, shares }) => sharesOf(await must(rekeyOn(b, path, shares))),
  },
  {
    name: 'a verified rekeying',
    replace: (bench) => verified(bench, bench.shares),
  },
  {
    name: 'a rekeying, and a verified one',
    replace: async (bench) =>
      verified(bench, sharesOf(await must(rekeyOn(bench.b, bench.path, bench.shares)))),
  },
  {
    name: 'a verified rekeying that nobody confirmed, and that was written,',
    async replace({ b, path, shares }) {
      const { made, nonce } = await almostVerified(b, path, shares);
      b.second.push('write and fail');
      assert.equal((await give(b, `${path}/verify`, made, nonce)).status, 503);
      return made;
    },
  },
  {
    name: 'a rekeying that was confirmed at the third time',
    async replace({ b, path, shares }) {
      b.second.push('fail', 'write and fail');
      return sharesOf(await must(rekeyOn(b, path, shares)));
    },
  },
  {
    name: 'a rekeying that was confirmed when its first share was shown',
    async replace(bench) {
      const made = await unconfirmed(bench);
      assert.equal((await put(bench.b, 'sys/generate-root/update', { key: made[2] })).status, 400);
      return made;
    },
  },
  {
    name: 'a rekeying in the place of one that was never confirmed',
    async replace(bench) {
      await unconfirmed(bench);
      return sharesOf(await must(rekeyOn(bench.b, bench.path, bench.shares)));
    },
  },
  {
    name: 'a verified rekeying in the place of one that was never confirmed',
    async replace(bench) {
      await unconfirmed(bench);
      return verified(bench, bench.shares);
    },
  },
];

eachPlace('what is left', (newPlace) => {
  for (const type of ['shamir', 'keyfile'] as const) {
    for (const { name, replace } of WAYS) {
      test(`${name} leaves the one seal that its shares are of (${type})`, async (t) => {
        const bench = await installRekeying(t, await newPlace(), type);
        const made = await replace(bench);
        assert.deepEqual(await besides(bench.b), []);
        assert.ok(await authorise(bench, made));
        assert.ok(!(await authorise(bench, bench.shares)), 'the former ones');
      });
    }

    test(`a rekeying that is cancelled, or not verified, leaves the former seal (${type})`, async (t) => {
      const bench = await installRekeying(t, await newPlace(), type);
      const { b, path, root, shares } = bench;
      const { made, nonce } = await almostVerified(b, path, shares);
      await must(put(b, `${path}/verify`, { key: made[0], nonce }));
      await must(b.call('DELETE', `${path}/init`, undefined, { token: root }));
      await must(put(b, `${path}/update`, { key: shares[0], nonce: await begin(b, path) }));
      assert.deepEqual(await besides(b), []);
      assert.ok(!(await authorise(bench, made)));
      assert.ok(await authorise(bench, shares));
    });
  }

  for (const { what, generation, left } of [
    { what: 'replaced is gone', generation: 1, left: [] },
    { what: 'in force is gone', generation: 2, left: [] },
    { what: 'to follow stays', generation: 3, left: [{ generation: 3 }] },
  ]) {
    test(`once a server has started, what an earlier program left of a seal that is ${what}`, async (t) => {
      const bench = await installRekeying(t, await newPlace(), 'keyfile');
      await must(rekeyOn(bench.b, bench.path, bench.shares));
      const { app, stop } = bench.b.running;
      const row = build.insertInto('seal_next').values({ id: 1, generation, body: '{}' });
      await app.store.commit([write(row)]);
      await stop();
      const again = await startTestServer(t, { config: app.config });
      assert.deepEqual(await besides(again), left);
    });
  }

  test('a backup has the root key wrapped for the shares in force, and for none that they replaced', async (t) => {
    const place = await newPlace();
    const { b, path, shares } = await installRekeying(t, place, 'shamir');
    const directory = newDirectory(t);
    const wrapped: Buffer[] = [];
    let present = shares;
    for (const [secret_shares, isVerified] of [
      [3, false],
      [5, true],
      [255, false],
      [2, true],
      [255, true],
      [2, false],
      [3, true],
    ] as const) {
      wrapped.push(await wrappedKey(b));
      const nonce = await begin(b, path, isVerified, secret_shares);
      const done = await must(give(b, `${path}/update`, present, nonce));
      present = sharesOf(done);
      const verification = done.textAt('verification_nonce');
      if (isVerified) await must(give(b, `${path}/verify`, present, verification));
      const file = join(directory, `${wrapped.length}`);
      await backUp(place.options(), file, { now: Date.now(), program: 'test' });
      const bytes = readFileSync(file);
      const holds = (one: Buffer): boolean =>
        bytes.includes(one) || bytes.includes(one.toString('base64'));
      assert.ok(holds(await wrappedKey(b)), 'the one in force');
      assert.deepEqual(
        wrapped.map(holds),
        wrapped.map(() => false),
      );
    }
  });
});

async function wrappedKey({ running }: Client): Promise<Buffer> {
  const seal = await findSeal(running.app.db);
  assert.ok(seal);
  return Buffer.from(seal.root_key_sealed);
}
