import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { openTestApp, testCaller, testMount } from '../../../test/support/app.ts';
import { eachEngine, eachPlace } from '../../../test/support/engines.ts';
import { copyRow } from '../../../test/support/many-rows.ts';
import type { App } from '../../app/app.ts';
import type { Mount } from '../../app/mount.ts';
import { Failure } from '../../core/failure.ts';
import type { Soon } from '../../core/steps.ts';
import { insertMount } from '../../mounts/store.ts';
import { cacheConfig } from '../../store/config-cache.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import type { Store } from '../../store/store.ts';
import { generateStoredKey } from '../keys/operations.ts';
import { changeMountState, readMountState } from './operations.ts';
import type { MountState } from './state.ts';

/** All issuers and keys of a mount take megabytes: those who read or change one of them at once have them in common. */

const AT_ONCE = 30;
const MANY = 900;

async function makeMount({ store }: Pick<App, 'store'>, name: string): Promise<Mount> {
  const mount = {
    ...testMount({ kind: 'secret', path: `${name}/`, type: 'pki' }),
    accessor: name,
  };
  await store.commit([insertMount(mount), bumpConfigVersion()]);
  return mount;
}

const makeKey = (app: App, mount: Mount, key_name: string) =>
  generateStoredKey(app, testCaller(mount), {
    exported: 'internal',
    key_type: 'ec',
    key_bits: 0,
    key_name,
  });

/** With so many keys that reading them takes turns. */
async function makeFullMount(app: App, name: string): Promise<Mount> {
  const mount = await makeMount(app, name);
  await makeKey(app, mount, `first-${name}`);
  const changes = { id: sql`(10000000 + n.i) || substr(id, 9)`, name: sql`'k' || n.i` };
  await copyRow(app.store, 'pki_key', {
    of: { mount_id: mount.id },
    copies: MANY,
    changes,
  });
  return mount;
}

/** Plans a change of a mount, and notes by what. */
function change(app: App, mount: Mount, noted: MountState[], changes: boolean): Promise<void> {
  return changeMountState(app, testCaller(mount), (mountState) => {
    noted.push(mountState);
    return { effects: [], result: undefined, ...(changes && { defaults: {} }) };
  });
}

const versionsOf = (noted: readonly MountState[]): Set<number> =>
  new Set(noted.map(({ defaults }) => defaults.version));

const CHANGES: [what: string, changes: boolean, versions: number][] = [
  ['that change nothing', false, 1],
  ['that change it', true, AT_ONCE],
];

eachEngine('of the issuers and keys of a mount', (open) => {
  for (const [what, changes, versions] of CHANGES) {
    test(`each version is read once for all plans at once ${what}`, async () => {
      const { app } = await openTestApp(await open());
      const [mount, other] = [await makeFullMount(app, 'one'), await makeFullMount(app, 'other')];
      const noted: MountState[] = [];
      const elsewhere: MountState[] = [];
      await Promise.all([
        ...Array.from({ length: AT_ONCE }, () => change(app, mount, noted, changes)),
        change(app, other, elsewhere, changes),
      ]);
      assert.ok(noted.length >= AT_ONCE);
      assert.equal(versionsOf(noted).size, versions);
      assert.equal(new Set(noted).size, versions);
      assert.equal(new Set(elsewhere).size, 1);
      assert.ok(elsewhere.every((one) => !noted.includes(one)));
    });
  }

  test('those of one mount are read once, whatever else is changed meanwhile', async () => {
    const store = await open();
    const { app } = await openTestApp(store);
    const mounts = [await makeFullMount(app, 'one'), await makeFullMount(app, 'other')];
    for (const { id } of mounts) {
      const reads: Soon<MountState>[] = [];
      for (let at = 0; at < AT_ONCE; at += 1) {
        reads.push(readMountState(app, id));
        await store.commit([bumpConfigVersion()]);
      }
      const read = new Set(await Promise.all(reads));
      assert.equal(read.size, 1);
      for (const { keys } of read) assert.equal(keys.size, MANY + 1);
    }
  });

  test('what cannot be read is read again by whoever waits', async () => {
    const { app } = await openTestApp(await open());
    const mount = await makeMount(app, 'one');
    await makeKey(app, mount, 'k');
    const { versionOf } = app;
    let fails = true;
    app.versionOf = (subject) => {
      if (!fails) return versionOf(subject);
      fails = false;
      return Promise.reject(new Failure('unavailable', 'no'));
    };
    await app.store.commit([bumpConfigVersion()]);
    await assert.rejects(async () => readMountState(app, mount.id), { kind: 'unavailable' });
    assert.equal((await readMountState(app, mount.id)).keys.size, 1);
  });
});

/** That of a node which hears of changes elsewhere only when it asks. */
async function withoutNews(store: Store): Promise<Store> {
  let seen = await store.configVersion();
  return {
    ...store,
    onConfigChange: () => {},
    configVersion: () => seen,
    refreshConfig: async () => {
      await store.refreshConfig();
      seen = await store.configVersion();
    },
  };
}

eachPlace('of two nodes', (newPlace, engine) => {
  // A SQLite directory belongs to one.
  if (engine === 'sqlite') return;

  test('one plans by what the other has changed before', async () => {
    const place = await newPlace();
    const { app } = await openTestApp(await place.open('a'));
    const store = await withoutNews(await place.open('b'));
    const there: App = { ...app, store, db: store.db, ...cacheConfig(store, app.barrier) };
    const mount = await makeMount(app, 'one');
    for (let keys = 1; keys < 12; keys += 1) {
      await makeKey(app, mount, `key-${keys}`);
      const noted: MountState[] = [];
      await change(there, mount, noted, false);
      assert.deepEqual(
        noted.map((mountState) => mountState.keys.size),
        [keys],
      );
    }
  });
});
