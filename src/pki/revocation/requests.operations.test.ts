// What comes of a request to revoke when others do something at that moment.

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import {
  enableTestMount,
  openTestApp,
  requireTestMount,
  testCaller,
} from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { makeCertificate } from '../../../test/support/made-certificate.ts';
import type { App } from '../../app/app.ts';
import { LEASE_MS } from '../../app/job.ts';
import { encodePem } from '../../core/pem.ts';
import { runIfFree } from '../../start/jobs.ts';
import { acquireLease } from '../../store/job-lock.ts';
import type { Store } from '../../store/store.ts';
import type { Effect } from '../../store/write.ts';
import { deleteCertificate, findCertificate, insertCertificate } from '../certificates/store.ts';
import { writeCrlConfig } from '../crl/settings.operations.ts';
import { listRevokedWithClusters } from '../mount-state/revocations.store.ts';
import { deleteRevocations } from '../tidy/expired.store.ts';
import { revocationJobs } from './jobs.ts';
import { revokeCertificate } from './operations.ts';
import {
  countRequests,
  endRequest,
  findRequest,
  insertRequest,
  raiseReason,
} from './requests.store.ts';

const { privateKey: key } = generateKeyPairSync('ed25519');
const { serial, raw: der } = makeCertificate({
  subject: 'a.test',
  issuer: 'R',
  key,
  signer: key,
  serial: Uint8Array.of(1, 2, 3, 4),
});

const certificate = encodePem('CERTIFICATE', der);

let mounts = 0;

/** A mount with a certificate of the cluster "east", seen by that and by "west". */
async function openClusters(store: Store) {
  const { app, clock } = await openTestApp(store);
  const path = `pki${++mounts}/`;
  await enableTestMount(app, { kind: 'secret', path, type: 'pki' });
  const mount = await requireTestMount(app, path);
  const settings = { auto_rebuild: true, cross_cluster_revocation: true };
  await writeCrlConfig(app, testCaller(mount), settings);
  const row = { serial, issuer_id: '', role: '', subject_cn: 'a.test', not_before: 0, der };
  const not_after = clock.now + 3600;
  const insert = insertCertificate(mount.id, { ...row, not_after, clusters: 'east' }, []);
  await app.store.commit(insert);
  const at = (cluster_name: string): App => ({ ...app, config: { ...app.config, cluster_name } });
  const revoke = (cluster: App, sent: Partial<Parameters<typeof revokeCertificate>[2]> = {}) => {
    const caller = testCaller(mount);
    const named = sent.certificate === undefined ? { serial_number: serial } : {};
    const done = revokeCertificate(cluster, caller, { reason: '', ...named, ...sent });
    return done.then((answer) => ({ ...answer, outcome: caller.record.outcome }));
  };
  return {
    app,
    clock,
    east: at('east'),
    west: at('west'),
    named: { mount_id: mount.id, serial },
    revoke,
    holders: async () => (await findCertificate(app.db, mount.id, serial))?.clusters,
    request: () => findRequest(app.db, { mount_id: mount.id, serial }),
    revoked: () => {
      return listRevokedWithClusters.all(app.db, { mount_id: mount.id, after: '', limit: 9 });
    },
  };
}

/** Carries out what a cluster is asked for. */
const carryOut = async (app: App): Promise<void> => {
  for (const job of revocationJobs) await runIfFree(app, job);
};

/** The same server, where something is durable before the first write set that it commits. */
function anticipated(app: App, first: () => Promise<unknown>): App {
  let once: (() => Promise<unknown>) | undefined = first;
  const before =
    (commit: App['commit']): App['commit'] =>
    async (caller, effects: readonly Effect[]) => {
      const now = once;
      once = undefined;
      await now?.();
      await commit(caller, effects);
    };
  return { ...app, commit: before(app.commit), commitOnce: before(app.commitOnce) };
}

eachEngine('a request to revoke', (open) => {
  test('is recorded, and has no time', async () => {
    const { west, revoke, request } = await openClusters(await open());
    const asked = await revoke(west);
    assert.ok('data' in asked);
    assert.deepEqual(asked.data, { state: 'pending' });
    assert.deepEqual(asked.outcome, { serial_number: serial, state: 'pending' });
    const { cluster, requested_by, reason } = (await request()) ?? {};
    assert.deepEqual([cluster, requested_by, reason], ['east', 'west', 0]);
  });

  test('is counted for the cluster that it is for, up to a bound', async () => {
    const { app, clock, named } = await openClusters(await open());
    for (const [at, cluster] of ['north', 'south', 'south', 'south'].entries()) {
      const of = { mount_id: named.mount_id, serial: `0${at}:01` };
      const row = { issuer_id: '', role: '', subject_cn: '', not_before: 0, der, clusters: 'east' };
      const asked = { ...of, cluster, requested_by: 'west', reason: 0, requested_at_ms: 1 };
      await app.store.commit([
        ...insertCertificate(of.mount_id, { ...row, ...of, not_after: clock.now }, []),
        ...insertRequest(asked, 'east'),
      ]);
    }
    const counted = async (most?: number) => {
      const counts = await countRequests(app.db, most);
      return ['north', 'south', 'west'].map((cluster) => counts.get(cluster));
    };
    assert.deepEqual(await counted(), [1, 3, undefined]);
    assert.deepEqual(await counted(2), [1, 2, undefined]);
  });

  test('of a certificate that is removed at that moment is refused, and nothing is queued', async () => {
    const { app, west, named, revoke, request } = await openClusters(await open());
    const remove = () =>
      app.store.commit(deleteCertificate(named.mount_id, { serial, subject_cn: '', names: null }));
    await assert.rejects(revoke(anticipated(west, remove)), /not found/);
    assert.equal(await request(), undefined);
  });

  test('that somebody else makes at that moment is made once', async () => {
    const { app, west, named, revoke, request } = await openClusters(await open());
    const asked = { ...named, cluster: 'east', requested_by: 'north', reason: 0 };
    const ask = () => app.store.commit(insertRequest({ ...asked, requested_at_ms: 1 }, 'east'));
    const answer = await revoke(anticipated(west, ask));
    assert.deepEqual('data' in answer && answer.data, { state: 'pending' });
    assert.equal((await request())?.requested_by, 'north');
  });

  test('of what is revoked at that moment, by its owner or here, ends all the same', async () => {
    for (const cluster of ['east', 'west']) {
      const { east, west, clock, revoke, request, revoked } = await openClusters(await open());
      const first = () => revoke(east);
      await revoke(anticipated(west, first));
      clock.now += 5;
      const again = await revoke(cluster === 'east' ? east : west);
      assert.equal('data' in again && again.data.state, 'revoked');
      await carryOut(east);
      assert.equal(await request(), undefined);
      assert.deepEqual(await revoked(), [{ serial, clusters: 'east' }]);
    }
  });

  test('whose certificate is gone by then ends without a revocation', async () => {
    const { app, east, west, named, revoke, request, revoked } = await openClusters(await open());
    await revoke(west);
    await app.store.commit(
      deleteCertificate(named.mount_id, { serial, subject_cn: '', names: null }),
    );
    await carryOut(east);
    assert.equal(await request(), undefined);
    assert.deepEqual(await revoked(), []);
  });

  test('whose certificate has run out by then revokes only where that is allowed', async () => {
    for (const allow_expired_cert_revocation of [false, true]) {
      const { app, clock, east, west, named, revoke, request, revoked } = await openClusters(
        await open(),
      );
      await revoke(west);
      clock.now += 7200;
      const mount = testCaller(await requireTestMount(app, `pki${mounts}/`));
      await writeCrlConfig(app, mount, { allow_expired_cert_revocation });
      await carryOut(east);
      assert.equal(await request(), undefined, named.serial);
      assert.equal((await revoked()).length, allow_expired_cert_revocation ? 1 : 0);
    }
  });

  test('that is changed or ended while it is carried out is looked at again', async () => {
    const { app, east, west, named, revoke, request, revoked } = await openClusters(await open());
    await revoke(west);
    const raise = () => app.store.commit([raiseReason({ ...named, reason: 1 })]);
    await carryOut(anticipated(east, raise));
    assert.equal((await request())?.reason, 1);
    assert.deepEqual(await revoked(), []);
    const end = () => app.store.commit([endRequest({ ...named, reason: 1 })]);
    await carryOut(anticipated(east, end));
    assert.deepEqual(await revoked(), []);
    await revoke(west, { reason: 'keyCompromise' });
    await carryOut(east);
    assert.equal(await request(), undefined);
    assert.deepEqual(await revoked(), [{ serial, clusters: 'east' }]);
  });

  test('stays where another node of its cluster has taken over', async () => {
    const { app, clock, east, west, revoke, request, revoked } = await openClusters(await open());
    await revoke(west);
    const name = 'pki/revocation-queue/east';
    const takeOver = async () => {
      clock.now += LEASE_MS / 1000;
      const other = { name, holder: 'other', now_ms: app.now(), ttl_ms: LEASE_MS };
      assert.ok(await acquireLease(app.store, other));
    };
    await carryOut(anticipated(east, takeOver));
    assert.ok(await request());
    assert.deepEqual(await revoked(), []);
    await carryOut(west);
    assert.ok(await request(), 'it is not asked of this cluster');
    clock.now += LEASE_MS / 1000;
    await carryOut(east);
    assert.deepEqual(await revoked(), [{ serial, clusters: 'east' }]);
  });
});

eachEngine('what a cluster has revoked', (open) => {
  /** Revoked by "west", and issued by "east". */
  async function openRevoked() {
    const clusters = await openClusters(await open());
    const { app, west, revoke } = clusters;
    const revoked = await revoke(west, { certificate });
    const at = (cluster_name: string): App => ({ ...app, config: { ...app.config, cluster_name } });
    return { ...clusters, at, time: timeOf(revoked) };
  }
  const timeOf = (answer: object) => 'data' in answer && Object(answer.data).revocation_time;

  for (const cluster of ['east', 'north']) {
    test(`is revoked once by "${cluster}", however many ask for it at once`, async () => {
      const { clock, at, time, revoke, revoked, holders } = await openRevoked();
      clock.now += 5;
      const present = (app: App) => revoke(app, { certificate });
      const again = await present(anticipated(at(cluster), () => present(at(cluster))));
      assert.equal(timeOf(again), time);
      assert.deepEqual(await revoked(), [{ serial, clusters: `west,${cluster}` }]);
      assert.equal(await holders(), cluster === 'east' ? 'east,west' : 'east,west,north');
    });
  }

  test('is of two further clusters that revoke it at one moment', async () => {
    const { at, time, revoke, revoked, holders } = await openRevoked();
    const present = (app: App) => revoke(app, { certificate });
    const again = await present(anticipated(at('south'), () => present(at('north'))));
    assert.equal(timeOf(again), time);
    assert.deepEqual(await revoked(), [{ serial, clusters: 'west,north,south' }]);
    assert.equal(await holders(), 'east,west,north,south');
  });

  test('is as it was where it is tidied up while it is revoked once more', async () => {
    const { app, at, named, time, revoke, revoked } = await openRevoked();
    const tidy = () =>
      app.store.commit([
        ...deleteRevocations(named.mount_id, [serial], { before: 2 ** 40, revision: 1 }),
        ...deleteCertificate(named.mount_id, { serial, subject_cn: '', names: null }),
      ]);
    const again = await revoke(anticipated(at('north'), tidy), { certificate });
    assert.equal(timeOf(again), time);
    assert.deepEqual(await revoked(), []);
  });
});
