import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, testCaller } from '../../../test/support/app.ts';
import { type Crl, parseCrl } from '../../../test/support/crl.ts';
import {
  makeIssuer,
  makeRoot,
  noteShards,
  revokeNumbers,
} from '../../../test/support/crl-mounts.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import type { App } from '../../app/app.ts';
import type { Mount } from '../../app/mount.ts';
import { runIfFree } from '../../start/jobs.ts';
import { cacheConfig } from '../../store/config-cache.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { build } from '../../store/database.ts';
import { acquireLease, LeaseWatch } from '../../store/job-lock.ts';
import { write } from '../../store/write.ts';
import { writeCluster, writeUrls } from '../config/operations.ts';
import { readMountState } from '../mount-state/operations.ts';
import type { CrlPatch } from './config.ts';
import { classIdOf } from './issuer-class.ts';
import { crlJobs } from './jobs.ts';
import { COMPLETE, type CrlKind, crlName, DELTA } from './kind.ts';
import { readCrl } from './operations.ts';
import { writeCrlConfig } from './settings.operations.ts';
import { findCrl } from './store.ts';

async function run(app: App): Promise<void> {
  for (const job of crlJobs) await runIfFree(app, job);
}

/** The number that is stored, which no read has changed. */
async function numberOf(app: App, mount: Mount, kind: CrlKind, issuer_id?: string) {
  const { issuers, defaults } = await readMountState(app, mount.id);
  const issuer = issuers.get(issuer_id ?? defaults.default_issuer);
  assert.ok(issuer);
  return (await findCrl(app.db, mount.id, crlName(classIdOf(issuer), kind)))?.number;
}

async function read(app: App, mount: Mount, kind: CrlKind): Promise<Crl> {
  const crl = await readCrl(app, mount.id, 'default', kind);
  assert.ok(crl);
  return parseCrl(crl.der);
}

const AUTO = { auto_rebuild: true, expiry: '72h', auto_rebuild_grace_period: '12h' };
const AGES: [config: CrlPatch, hours: number, isAnother: boolean, why: string][] = [
  [{}, 35.9, false, 'half of its time is not over'],
  [{}, 36, true, 'half of its time is over'],
  [AUTO, 59.9, false, 'its grace has not begun'],
  [AUTO, 60, true, 'its grace has begun'],
];

eachEngine('the job of CRLs', (open) => {
  for (const [config, hours, isAnother, why] of AGES) {
    test(`nobody reads a CRL for ${hours} h, with ${JSON.stringify(config)}: ${why}`, async () => {
      const { app, clock } = await openTestApp(await open());
      const { mount } = await makeIssuer(app);
      await writeCrlConfig(app, testCaller(mount), config);
      await read(app, mount, COMPLETE);
      const before = await numberOf(app, mount, COMPLETE);
      clock.now += hours * 3600;
      await run(app);
      assert.equal((await numberOf(app, mount, COMPLETE)) !== before, isAnother);
    });
  }

  test('deltas follow their interval and their complete CRL, though nobody reads them', async () => {
    const { app, clock } = await openTestApp(await open());
    const { mount, issuer_id } = await makeIssuer(app);
    const config = { ...AUTO, enable_delta: true, delta_rebuild_interval: '15m' };
    await writeCrlConfig(app, testCaller(mount), config);
    await read(app, mount, COMPLETE);
    assert.equal(await numberOf(app, mount, DELTA), undefined);
    await run(app);
    const first = await numberOf(app, mount, DELTA);
    assert.notEqual(first, undefined);
    await revokeNumbers(app, mount, { issuer_id, from: 0, to: 3 });
    clock.now += 899;
    await run(app);
    assert.equal(await numberOf(app, mount, DELTA), first);
    clock.now += 61;
    await run(app);
    const second = await numberOf(app, mount, DELTA);
    assert.notEqual(second, first);
    assert.equal([...(await read(app, mount, DELTA)).entries()].length, 3);
    clock.now += 3600;
    await run(app);
    assert.equal(await numberOf(app, mount, DELTA), second, 'nothing was revoked since');
    clock.now += 60 * 3600;
    await run(app);
    const complete = await numberOf(app, mount, COMPLETE);
    await run(app);
    const delta = await read(app, mount, DELTA);
    assert.equal(delta.deltaBase, BigInt(complete ?? 0));
    assert.equal(delta.crlNumber, BigInt((await numberOf(app, mount, DELTA)) ?? 0));
    assert.equal([...delta.entries()].length, 0);
  });

  test('shards that were read are renewed until their last certificate has ended, and have no deltas', async () => {
    const { app, clock } = await openTestApp(await open());
    const { mount } = await makeIssuer(app);
    await writeCrlConfig(app, testCaller(mount), { ...AUTO, enable_delta: true });
    await noteShards(app, mount, 4, clock.now + 100 * 3600);
    const [first, second] = [0, 1].map((number) => ({ ...COMPLETE, shard: { number, count: 4 } }));
    assert.ok(first && second);
    await read(app, mount, first);
    const before = await numberOf(app, mount, first);
    await run(app);
    assert.equal(await numberOf(app, mount, first), before);
    clock.now += 60 * 3600;
    await run(app);
    const renewed = await numberOf(app, mount, first);
    assert.notEqual(renewed, before);
    clock.now += 60 * 3600;
    await run(app);
    assert.equal(await numberOf(app, mount, first), renewed, 'no certificate names it any more');
    assert.equal(await readCrl(app, mount.id, 'default', first), undefined);
    assert.equal(await numberOf(app, mount, second), undefined, 'nobody has read it');
    assert.equal(await numberOf(app, mount, { ...first, ...DELTA }), undefined);
  });

  test('a CRL that cannot be built, and a mount that is gone, keep no other from being renewed', async () => {
    const { app, clock } = await openTestApp(await open());
    const { mount: gone } = await makeIssuer(app, { enabled: false });
    const { mount } = await makeIssuer(app);
    await makeRoot(app, mount, { exported: 'internal', common_name: 'S', key_type: 'ec' });
    const { issuers } = await readMountState(app, mount.id);
    const [first, second] = [...issuers.values()];
    assert.ok(first && second);
    for (const { id } of [first, second]) await readCrl(app, mount.id, id);
    await readCrl(app, gone.id, 'default');
    const before = [first, second].map(({ id }) => numberOf(app, mount, COMPLETE, id));
    const [was, wasOther] = await Promise.all(before);
    const wasGone = await numberOf(app, gone, COMPLETE);
    const broken = build.updateTable('pki_key').set({ private_key_sealed: Uint8Array.of(1) });
    await app.store.commit([write(broken.where('id', '=', first.key_id)), bumpConfigVersion()]);
    clock.now += 40 * 3600;
    await run(app);
    assert.equal(await numberOf(app, mount, COMPLETE, first.id), was);
    assert.notEqual(await numberOf(app, mount, COMPLETE, second.id), wasOther);
    assert.equal(await numberOf(app, gone, COMPLETE), wasGone);
  });

  test('a CRL of another cluster leads to the deltas of that one, whichever builds it, and is not built anew for it', async () => {
    const { app } = await openTestApp(await open());
    const { mount } = await makeIssuer(app);
    const caller = testCaller(mount);
    await writeUrls(app, caller, {
      enable_templating: true,
      delta_crl_distribution_points: ['{{cluster_aia_path}}/crl/delta'],
    });
    await writeCrlConfig(app, caller, { ...AUTO, enable_delta: true });
    const at = (cluster_name: string): App => ({
      ...app,
      ...cacheConfig(app.store, app.barrier),
      config: { ...app.config, cluster_name },
    });
    const [east, west] = [at('east'), at('west')];
    for (const one of [east, west]) {
      const aia_path = `http://${one.config.cluster_name}.test`;
      await writeCluster(one, caller, { aia_path });
    }
    const kind = { ...COMPLETE, of: 'west' };
    await read(west, mount, COMPLETE);
    const before = await numberOf(app, mount, kind);
    // It has a delta made, of which there is none yet.
    await run(east);
    assert.equal(await numberOf(app, mount, kind), before);
    assert.notEqual(await numberOf(app, mount, { ...kind, delta: true }), undefined);
    const { raw } = await read(west, mount, COMPLETE);
    assert.match(Buffer.from(raw).toString('latin1'), /http:\/\/west\.test\/crl\/delta/);
    assert.equal(await numberOf(app, mount, kind), before, 'its own reads do not, either');
  });

  test('one node at a time renews them', async () => {
    const { app, clock } = await openTestApp(await open());
    const { mount } = await makeIssuer(app);
    await read(app, mount, COMPLETE);
    const before = await numberOf(app, mount, COMPLETE);
    clock.now += 40 * 3600;
    const request = { name: 'pki/crl', holder: 'another node', now_ms: app.now(), ttl_ms: 10_000 };
    await acquireLease(app.store, request, { seen: new LeaseWatch(), longest_ms: 60_000 });
    await run(app);
    assert.equal(await numberOf(app, mount, COMPLETE), before);
    clock.now += 3600;
    await run(app);
    assert.notEqual(await numberOf(app, mount, COMPLETE), before);
  });
});
