import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, testCaller, testMount } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { makeAuthority, pkcs8Of } from '../../../test/support/made-authorities.ts';
import type { App } from '../../app/app.ts';
import type { Mount } from '../../app/mount.ts';
import { Failure } from '../../core/failure.ts';
import { insertMount } from '../../mounts/store.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import type { Store } from '../../store/store.ts';
import { generateStoredKey } from '../keys/operations.ts';
import { readMountState } from '../mount-state/operations.ts';
import { MOST_ISSUERS } from '../mount-state/room.ts';
import { importAuthorities } from './operations.ts';

async function open(store: Store): Promise<{ app: App; mount: Mount }> {
  const { app } = await openTestApp(store);
  const mount = testMount({ kind: 'secret', path: 'pki/', type: 'pki' });
  await store.commit([insertMount(mount), bumpConfigVersion()]);
  return { app, mount };
}

const bring = (app: App, mount: Mount, pem_bundle: string) =>
  importAuthorities(app, testCaller(mount), { pem_bundle }, { mayHaveKeys: true });

const makeMany = (count: number): string => {
  const root = makeAuthority('Root');
  const others = Array.from({ length: count - 1 }, (_, at) => makeAuthority(`${at}`, { by: root }));
  return [root, ...others].map(({ pem, keyPem }) => keyPem + pem).join('');
};

eachEngine('importing', (openStore) => {
  test('a mount takes as many authorities and keys at once as it may have, and no more', async () => {
    const { app, mount } = await open(await openStore());
    const { data } = await bring(app, mount, makeMany(MOST_ISSUERS));
    assert.equal(data?.imported_issuers?.length, MOST_ISSUERS);
    const { issuers, keys, defaults } = await readMountState(app, mount.id);
    assert.deepEqual([issuers.size, keys.size], [MOST_ISSUERS, MOST_ISSUERS]);
    assert.equal(defaults.default_issuer, '');
    for (const issuer of issuers.values()) {
      assert.ok(keys.has(issuer.key_id));
      assert.ok(issuer.chain.length <= 2);
    }
    await assert.rejects(bring(app, mount, makeAuthority('One more').pem), (error: unknown) => {
      assert.ok(error instanceof Failure);
      assert.match(error.message, /the mount would have 1001 issuers, and may have at most 1000/);
      return true;
    });
  });

  test('nothing of a bundle is taken for which there is no room', async () => {
    const { app, mount } = await open(await openStore());
    await assert.rejects(bring(app, mount, makeMany(MOST_ISSUERS + 1)), Failure);
    const { issuers, keys } = await readMountState(app, mount.id);
    assert.deepEqual([issuers.size, keys.size], [0, 0]);
  });

  test('of the same bundles at once each certificate and key is taken once, and all are linked', async () => {
    const { app, mount } = await open(await openStore());
    const authorities = ['A', 'B', 'C', 'D'].map((name) => makeAuthority(name));
    const changes = Array.from({ length: 4 }, (_, at) => [
      bring(app, mount, authorities.map(({ pem }) => pem).join('')),
      bring(app, mount, authorities.map(({ key }) => pkcs8Of(key)).join('')),
      generateStoredKey(app, testCaller(mount), {
        exported: 'internal',
        key_type: 'ec',
        key_bits: 0,
        key_name: `k${at}`,
      }),
    ]);
    await Promise.all(changes.flat());
    const { issuers, keys } = await readMountState(app, mount.id);
    assert.deepEqual([issuers.size, keys.size], [4, 8]);
    for (const { key_id } of issuers.values()) assert.ok(keys.has(key_id));
  });
});
