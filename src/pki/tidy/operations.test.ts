import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import {
  enableTestMount,
  openTestApp,
  requireTestMount,
  type TestApp,
  testCaller,
} from '../../../test/support/app.ts';
import { parseCrl } from '../../../test/support/crl.ts';
import { noteShards } from '../../../test/support/crl-mounts.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import type { App } from '../../app/app.ts';
import type { Mount } from '../../app/mount.ts';
import { runIfFree } from '../../start/jobs.ts';
import { build } from '../../store/database.ts';
import { write } from '../../store/write.ts';
import { formatSerial } from '../../x509/serial.ts';
import { insertMetadata, listMetadataSerials } from '../certificates/metadata/store.ts';
import { CERTIFICATES, insertCertificate, listSerials } from '../certificates/store.ts';
import { COMPLETE } from '../crl/kind.ts';
import { readCrl } from '../crl/operations.ts';
import { writeCrlConfig } from '../crl/settings.operations.ts';
import { readCounts } from '../mount-state/counts.store.ts';
import { joinRevocation } from '../mount-state/joins.store.ts';
import { readMountState } from '../mount-state/operations.ts';
import {
  insertRevocation,
  listRevokedSerials,
  REVOCATIONS,
} from '../mount-state/revocations.store.ts';
import { rootFields } from '../profile/root.ts';
import { insertRequest, listRequests } from '../revocation/requests.store.ts';
import { generateRoot } from '../roots/operations.ts';
import { autoTidyPatchSchema, type TidyRequest, tidySchema } from './fields.ts';
import { tidyJobs } from './jobs.ts';
import { cancelTidying, readTidyStatus, startTidying, writeAutoTidy } from './operations.ts';
import { goOnTidying } from './run.operations.ts';

const HOUR = 3600;

let mounts = 0;
/** A mount of its own with a root. */
async function makeMount({ app, clock }: TestApp) {
  const path = `pki${++mounts}/`;
  await enableTestMount(app, { kind: 'secret', path, type: 'pki' });
  const mount = await requireTestMount(app, path);
  await makeRoot(app, mount, { common_name: 'R', ttl: '7000h' });
  const { defaults } = await readMountState(app, mount.id);
  return { app, clock, mount, issuer_id: defaults.default_issuer };
}

async function makeRoot(app: App, mount: Mount, body: object): Promise<void> {
  const root = z.object({ exported: z.string(), ...rootFields });
  const fields = { exported: 'internal', key_type: 'ec', ...body };
  await generateRoot(app, testCaller(mount), root.parse(fields));
}

const serialOf = (number: number): string =>
  formatSerial(Uint8Array.of(1, number >> 8, number & 0xff, 7));

/** Certificates with numbers from `from` to before `to`, which end when they are told to. */
async function store(
  app: App,
  mount: Mount,
  {
    from = 0,
    to,
    not_after,
    revoked_by,
    clusters = '',
    issued_by = '',
  }: {
    from?: number;
    to: number;
    not_after: number;
    revoked_by?: string;
    clusters?: string;
    issued_by?: string;
  },
): Promise<void> {
  const sets = Array.from({ length: to - from }, (_, at) => {
    const number = from + at;
    const serial = serialOf(number);
    const row = { serial, issuer_id: revoked_by ?? 'i', role: 'web', subject_cn: `${number}.test` };
    const bytes = { not_before: 0, not_after, der: Uint8Array.of(1, 2, 3) };
    const revocation = {
      serial,
      issuer_id: revoked_by ?? '',
      revoked_at_ms: 1e12,
      reason: 0,
      not_after,
      clusters,
      issued_by,
    };
    return [
      ...insertCertificate(mount.id, { ...row, ...bytes }, [`also.${number}.test`]),
      ...(revoked_by === undefined ? [] : insertRevocation(mount.id, revocation)),
    ];
  });
  await Promise.all(sets.map((set) => app.store.commit(set)));
}

/** Requests to revoke some of these, made at a moment. */
async function requestAll(
  app: App,
  mount: Mount,
  { from, to, requested_at }: { from: number; to: number; requested_at: number },
): Promise<void> {
  for (let number = from; number < to; number++) {
    const request = { mount_id: mount.id, serial: serialOf(number), cluster: '', reason: 0 };
    const asked = { requested_by: 'west', requested_at_ms: requested_at * 1000 };
    await app.store.commit(insertRequest({ ...request, ...asked }, ''));
  }
}

const requested = (app: App, mount: Mount) =>
  listRequests.all(app.db, { mount_id: mount.id, after: '', limit: 1000 });

async function tidy(app: App, mount: Mount, sent: object) {
  const answer = await startTidying(app, testCaller(mount), tidySchema.parse(sent));
  await goOnTidying(app, mount.id);
  return { answer, status: await readTidyStatus(app, testCaller(mount)) };
}

const serials = (app: App, mount: Mount) =>
  listSerials(app.db, { mount_id: mount.id, after: '', limit: 1000 });
const revoked = (app: App, mount: Mount) =>
  listRevokedSerials(app.db, { mount_id: mount.id, after: '', limit: 1000 });

async function listed(app: App, mount: Mount): Promise<number> {
  const crl = await readCrl(app, mount.id, 'default');
  assert.ok(crl);
  return [...parseCrl(crl.der).entries()].length;
}

eachEngine('tidying', (open) => {
  let shared: Promise<TestApp> | undefined;
  const openShared = (): Promise<TestApp> => {
    shared ??= openAlone();
    return shared;
  };
  const openAlone = async (): Promise<TestApp> => openTestApp(await open());

  test('certificates that ended longer ago than the buffer are removed, with their names, and as many are counted', async () => {
    const { app, clock, mount } = await makeMount(await openShared());
    await store(app, mount, { to: 120, not_after: clock.now - 2 * HOUR });
    await store(app, mount, { from: 120, to: 123, not_after: clock.now - HOUR });
    await store(app, mount, { from: 123, to: 125, not_after: clock.now + 1 });
    const { answer, status } = await tidy(app, mount, {
      tidy_cert_store: true,
      safety_buffer: HOUR,
    });
    assert.equal('status' in answer && answer.status, 202);
    assert.equal(status.state, 'Finished');
    assert.equal(status.cert_store_deleted_count, 120);
    assert.equal(status.processed_count, 120);
    assert.equal(status.total_count, 120);
    // The root is stored as well.
    assert.equal((await serials(app, mount)).length, 6);
    assert.equal((await readCounts(app.db, mount.id)).get(CERTIFICATES), 6);
    const names = await app.db
      .selectFrom('pki_certificate_name')
      .select('serial')
      .where('mount_id', '=', mount.id)
      .execute();
    assert.equal(names.filter(({ serial }) => serial === serialOf(0)).length, 0);
    assert.equal(names.filter(({ serial }) => serial === serialOf(121)).length, 2);
  });

  test('what is kept with certificates goes once they have ended, stored or not', async () => {
    const { app, clock, mount } = await makeMount(await openShared());
    await store(app, mount, { to: 1, not_after: clock.now - 2 * HOUR });
    const ends = [...Array(120).fill(clock.now - 2 * HOUR), clock.now - HOUR, clock.now + 1];
    for (const [number, not_after] of ends.entries()) {
      const of = { mount_id: mount.id, serial: serialOf(number), issuer_id: 'i', role: 'web' };
      await app.store.commit([insertMetadata({ ...of, not_after, data: Uint8Array.of(1) })]);
    }
    const sent = { tidy_cert_metadata: true, safety_buffer: HOUR };
    for (const dry_run of [true, false]) {
      const { status } = await tidy(app, mount, { ...sent, dry_run });
      assert.equal(status.state, 'Finished');
      assert.equal(status.cert_metadata_deleted_count, 120);
      assert.equal(status.total_count, 120);
    }
    const left = await listMetadataSerials(app.db, { mount_id: mount.id, after: '', limit: 1000 });
    assert.deepEqual(left, [serialOf(120), serialOf(121)]);
    assert.ok((await serials(app, mount)).includes(serialOf(0)), 'the certificate itself stays');
  });

  test('a revocation outlives its certificate, until revoked certificates are tidied', async () => {
    const { app, clock, mount, issuer_id } = await makeMount(await openShared());
    await store(app, mount, { to: 3, not_after: clock.now - 10, revoked_by: issuer_id });
    const first = await tidy(app, mount, { tidy_cert_store: true, safety_buffer: 1 });
    assert.equal(first.status.cert_store_deleted_count, 3);
    assert.equal((await revoked(app, mount)).length, 3);
    assert.equal(await listed(app, mount), 3);
    const second = await tidy(app, mount, { tidy_revoked_certs: true, safety_buffer: 1 });
    assert.equal(second.status.revoked_cert_deleted_count, 3);
    assert.equal((await revoked(app, mount)).length, 0);
    assert.equal((await readCounts(app.db, mount.id)).get(REVOCATIONS), 0);
    assert.equal(await listed(app, mount), 0);
  });

  test('revoked certificates have a buffer of their own, and go with their revocations', async () => {
    const { app, clock, mount, issuer_id } = await makeMount(await openShared());
    await store(app, mount, { to: 2, not_after: clock.now - 10, revoked_by: issuer_id });
    await store(app, mount, { from: 2, to: 4, not_after: clock.now - 10 });
    const late = { tidy_revoked_certs: true, safety_buffer: 1, revoked_safety_buffer: HOUR };
    assert.equal((await tidy(app, mount, late)).status.revoked_cert_deleted_count, 0);
    const soon = { ...late, revoked_safety_buffer: 5 };
    assert.equal((await tidy(app, mount, soon)).status.revoked_cert_deleted_count, 2);
    assert.equal((await serials(app, mount)).length, 3);
  });

  test('what another cluster than the one that issued it revoked goes by a flag of its own', async () => {
    const { app, clock, mount, issuer_id } = await makeMount(await openShared());
    const of = { not_after: clock.now - 10, revoked_by: issuer_id };
    await store(app, mount, { ...of, to: 2 });
    await store(app, mount, { ...of, from: 2, to: 5, clusters: 'west' });
    await store(app, mount, { ...of, from: 5, to: 9, clusters: ',west' });
    // That of an authority, which became everybody's: no other cluster has revoked it.
    await store(app, mount, { ...of, from: 9, to: 12, clusters: 'west,', issued_by: 'west' });
    const own = { tidy_revoked_certs: true, safety_buffer: 1 };
    const first = (await tidy(app, mount, own)).status;
    assert.deepEqual(
      [first.revoked_cert_deleted_count, first.cross_revoked_cert_deleted_count],
      [5, 0],
    );
    assert.equal((await revoked(app, mount)).length, 7);
    const across = { tidy_cross_cluster_revoked_certs: true, safety_buffer: 1 };
    const late = { ...across, revoked_safety_buffer: HOUR };
    assert.equal((await tidy(app, mount, late)).status.cross_revoked_cert_deleted_count, 0);
    const { status } = await tidy(app, mount, across);
    assert.deepEqual(
      [status.revoked_cert_deleted_count, status.cross_revoked_cert_deleted_count],
      [0, 7],
    );
    assert.equal(status.processed_count, 7);
    assert.equal((await revoked(app, mount)).length, 0);
    assert.equal((await serials(app, mount)).length, 1);
    assert.equal((await readCounts(app.db, mount.id)).get(REVOCATIONS), 0);
  });

  test('what a cluster was asked to revoke, and did not, goes once its buffer is over', async () => {
    const { app, clock, mount } = await makeMount(await openShared());
    await store(app, mount, { to: 130, not_after: clock.now + HOUR });
    await requestAll(app, mount, { from: 0, to: 120, requested_at: clock.now - 2 * HOUR });
    await requestAll(app, mount, { from: 120, to: 123, requested_at: clock.now - HOUR });
    const sent = { tidy_revocation_queue: true };
    assert.equal((await tidy(app, mount, sent)).status.revocation_queue_deleted_count, 0);
    const sooner = { ...sent, revocation_queue_safety_buffer: HOUR };
    const { status } = await tidy(app, mount, sooner);
    assert.equal(status.revocation_queue_deleted_count, 120);
    assert.equal(status.processed_count, 120);
    assert.deepEqual(
      (await requested(app, mount)).map(({ serial }) => serial),
      [serialOf(120), serialOf(121), serialOf(122)],
    );
    assert.equal((await serials(app, mount)).length, 131);
    assert.equal((await revoked(app, mount)).length, 0);
  });

  test('a revocation stays while CRLs are built by their age alone, until one is without it', async () => {
    const { app, clock, mount, issuer_id } = await makeMount(await openShared());
    await writeCrlConfig(app, testCaller(mount), { auto_rebuild: true });
    await store(app, mount, { to: 2, not_after: clock.now + 10, revoked_by: issuer_id });
    assert.equal(await listed(app, mount), 2);
    clock.now += HOUR;
    const sent = { tidy_revoked_certs: true, safety_buffer: 1 };
    assert.equal(
      (await tidy(app, mount, { ...sent, dry_run: true })).status.revoked_cert_deleted_count,
      0,
    );
    assert.equal((await tidy(app, mount, sent)).status.revoked_cert_deleted_count, 0);
    // Its grace has begun: the next one is built.
    clock.now += 65 * HOUR;
    assert.equal(await listed(app, mount), 2);
    assert.equal((await tidy(app, mount, sent)).status.revoked_cert_deleted_count, 0);
    // The one after that does without.
    clock.now += 65 * HOUR;
    assert.equal(await listed(app, mount), 0);
    assert.equal((await tidy(app, mount, sent)).status.revoked_cert_deleted_count, 2);
    assert.equal(await listed(app, mount), 0);
  });

  test('what a further cluster has revoked stays until its CRL has shown it, too', async () => {
    const { app, clock, mount, issuer_id } = await makeMount(await openShared());
    await writeCrlConfig(app, testCaller(mount), { auto_rebuild: true });
    const of = { not_after: clock.now + 10, revoked_by: issuer_id, clusters: 'east' };
    await store(app, mount, { ...of, to: 2 });
    const at = (cluster_name: string): App => ({ ...app, config: { ...app.config, cluster_name } });
    const [east, west] = [at('east'), at('west')];
    const shown = async () => [await listed(east, mount), await listed(west, mount)];
    const sent = { tidy_cross_cluster_revoked_certs: true, safety_buffer: 1 };
    const removed = async () =>
      (await tidy(west, mount, sent)).status.cross_revoked_cert_deleted_count;
    assert.deepEqual(await shown(), [2, 0]);
    clock.now += 65 * HOUR;
    assert.deepEqual(await shown(), [2, 0]);
    clock.now += 65 * HOUR;
    assert.deepEqual(await shown(), [0, 0]);
    const joined = { serial: serialOf(1), clusters: 'east' };
    const atThatMoment: App = {
      ...west,
      async commit(caller, effects) {
        const removes = effects.some((one) => 'sql' in one && /"pki_revocation"/.test(one.sql));
        if (removes) await app.store.commit(joinRevocation(mount.id, joined, 'west'));
        await app.commit(caller, effects);
      },
    };
    const { status } = await tidy(atThatMoment, mount, sent);
    assert.deepEqual([status.state, (await revoked(app, mount)).length], ['Error', 2]);
    assert.match(String(status.error), /changed by somebody else/);
    assert.equal(await removed(), 1);
    assert.deepEqual(await revoked(app, mount), [serialOf(1)]);
    clock.now += 65 * HOUR;
    assert.deepEqual(await shown(), [0, 1]);
    assert.equal(await removed(), 0);
    clock.now += 65 * HOUR;
    assert.deepEqual(await shown(), [0, 0]);
    assert.equal(await removed(), 1);
    assert.deepEqual(await shown(), [0, 0]);
  });

  test('a revocation stays until a shard that was read has shown it, too', async () => {
    const { app, clock, mount, issuer_id } = await makeMount(await openShared());
    await noteShards(app, mount, 2);
    const shard = { ...COMPLETE, shard: { number: 0, count: 2 } };
    const onShard = async () => {
      const crl = await readCrl(app, mount.id, 'default', shard);
      return crl && [...parseCrl(crl.der).entries()].length;
    };
    await writeCrlConfig(app, testCaller(mount), { auto_rebuild: true });
    await store(app, mount, { to: 2, not_after: clock.now + 10, revoked_by: issuer_id });
    assert.equal(await listed(app, mount), 2);
    clock.now += 60 * HOUR;
    assert.equal(await onShard(), 2);
    clock.now += HOUR;
    assert.equal(await listed(app, mount), 2);
    clock.now += 61 * HOUR;
    assert.equal(await listed(app, mount), 0);
    const sent = { tidy_revoked_certs: true, safety_buffer: 1 };
    assert.equal((await tidy(app, mount, sent)).status.revoked_cert_deleted_count, 0);
    assert.equal(await onShard(), 0);
    assert.equal((await tidy(app, mount, sent)).status.revoked_cert_deleted_count, 2);
    assert.equal(await onShard(), 0);
  });

  test('revocations leave all CRLs at one moment, however long their rows stay', async () => {
    const { app, clock, mount, issuer_id } = await makeMount(await openShared());
    await store(app, mount, { to: 4, not_after: clock.now - 10, revoked_by: issuer_id });
    await store(app, mount, { from: 4, to: 6, not_after: clock.now + HOUR, revoked_by: issuer_id });
    assert.equal(await listed(app, mount), 6);
    const request = tidySchema.parse({
      tidy_revoked_certs: true,
      safety_buffer: 1,
      pause_duration: '1h',
    });
    await startTidying(app, testCaller(mount), request);
    const running = goOnTidying(app, mount.id);
    while ((await revoked(app, mount)).length === 6) await new Promise(setImmediate);
    assert.equal(await listed(app, mount), 2);
    await cancelTidying(app, testCaller(mount));
    await running;
    assert.equal((await readTidyStatus(app, testCaller(mount))).state, 'Cancelled');
    assert.equal((await revoked(app, mount)).length, 5);
    assert.equal(await listed(app, mount), 2);
  });

  const dry: [what: string, sent: Partial<TidyRequest>][] = [
    ['certificates', { tidy_cert_store: true }],
    ['revocations', { tidy_revoked_certs: true }],
    ['what nobody can read', { tidy_invalid_certs: true }],
    ['what nobody can read, or has ended', { tidy_invalid_certs: true, tidy_cert_store: true }],
    ['issuers', { tidy_expired_issuers: true, issuer_safety_buffer: 1 }],
    ['what other clusters revoked', { tidy_cross_cluster_revoked_certs: true }],
    ['requests', { tidy_revocation_queue: true, revocation_queue_safety_buffer: 5 }],
    [
      'everything',
      {
        tidy_cert_store: true,
        tidy_revoked_certs: true,
        tidy_expired_issuers: true,
        issuer_safety_buffer: 1,
        revoked_safety_buffer: 5,
        tidy_revoked_cert_issuer_associations: true,
        tidy_cross_cluster_revoked_certs: true,
        tidy_revocation_queue: true,
        revocation_queue_safety_buffer: 5,
      },
    ],
  ];
  for (const [what, sent] of dry) {
    test(`a dry run counts what would be removed, and removes nothing: ${what}`, async () => {
      const { app, clock, mount, issuer_id } = await makeMount(await openShared());
      await makeRoot(app, mount, { common_name: 'Old', ttl: '10s' });
      clock.now += 60;
      await store(app, mount, { to: 70, not_after: clock.now - 10 });
      await store(app, mount, {
        from: 70,
        to: 90,
        not_after: clock.now - 10,
        revoked_by: issuer_id,
      });
      await store(app, mount, {
        from: 90,
        to: 95,
        not_after: clock.now + 10,
        revoked_by: issuer_id,
      });
      const across = { from: 95, to: 102, revoked_by: issuer_id, clusters: 'west' };
      await store(app, mount, { ...across, not_after: clock.now - 10 });
      await requestAll(app, mount, { from: 90, to: 95, requested_at: clock.now - 10 });
      await requestAll(app, mount, { from: 70, to: 72, requested_at: clock.now });
      const request = { safety_buffer: 1, ...sent };
      const before = await Promise.all([serials(app, mount), revoked(app, mount)]);
      const planned = (await tidy(app, mount, { ...request, dry_run: true })).status;
      assert.equal(planned.state, 'Finished');
      assert.equal(planned.dry_run, true);
      assert.deepEqual(await Promise.all([serials(app, mount), revoked(app, mount)]), before);
      assert.equal((await requested(app, mount)).length, 7);
      assert.equal((await readMountState(app, mount.id)).issuers.size, 2);
      const done = (await tidy(app, mount, request)).status;
      const countsOf = (status: Record<string, unknown>) =>
        Object.entries(status).filter(([name]) => /_count$/.test(name));
      assert.deepEqual(countsOf(planned), countsOf(done));
      assert.ok((done.processed_count ?? 0) > 0);
    });
  }

  test('issuers that ended longer ago than their buffer are removed, never the default one, and keys stay', async () => {
    const { app, clock, mount } = await makeMount(await openShared());
    await makeRoot(app, mount, { common_name: 'Old', issuer_name: 'old', ttl: '10s' });
    await makeRoot(app, mount, { common_name: 'Young', issuer_name: 'young', ttl: '6000h' });
    clock.now += 9000 * HOUR;
    const sent = { tidy_expired_issuers: true, issuer_safety_buffer: 1500 * HOUR };
    const { status } = await tidy(app, mount, sent);
    assert.equal(status.issuer_deleted_count, 2);
    const { issuers, keys, defaults } = await readMountState(app, mount.id);
    assert.ok(issuers.has(defaults.default_issuer));
    assert.equal(
      [...issuers.values()].some(({ name }) => name === 'old'),
      false,
    );
    assert.equal(keys.size, 3);
  });

  test('what nobody can read is removed, also where it has not ended', async () => {
    const { app, clock, mount } = await makeMount(await openShared());
    await store(app, mount, { to: 2, not_after: clock.now + HOUR });
    const { status } = await tidy(app, mount, { tidy_invalid_certs: true });
    assert.equal(status.cert_store_deleted_count, 2);
    assert.equal((await serials(app, mount)).length, 1);
  });

  test('the issuer of a revoked certificate is found once it is there, and its CRL has it', async () => {
    const { app, mount, issuer_id } = await makeMount(await openShared());
    const { issuers } = await readMountState(app, mount.id);
    const certificate = issuers.get(issuer_id)?.certificate;
    assert.ok(certificate);
    const { serial } = certificate;
    await app.store.commit(
      insertRevocation(mount.id, { serial, issuer_id: '', revoked_at_ms: 1e12, reason: 0 }),
    );
    const sent = { tidy_revoked_cert_issuer_associations: true };
    assert.equal((await tidy(app, mount, sent)).status.missing_issuer_cert_count, 1);
    assert.equal((await tidy(app, mount, sent)).status.missing_issuer_cert_count, 0);
    assert.equal(await listed(app, mount), 1);
  });

  test('one tidying of a mount is under way at a time, and what is selected may be nothing', async () => {
    const { app, mount } = await makeMount(await openShared());
    const caller = () => testCaller(mount);
    const none = await startTidying(app, caller(), tidySchema.parse({}));
    assert.match(none.warnings?.[0] ?? '', /no tidy operations were set/);
    const second = await startTidying(app, caller(), tidySchema.parse({ tidy_cert_store: true }));
    assert.deepEqual(second, { warnings: ['Tidy operation already in progress.'] });
    await goOnTidying(app, mount.id);
    const { status } = await tidy(app, mount, { tidy_cert_store: true });
    assert.equal(status.tidy_cert_store, true);
  });

  test('a tidying that was left by its server goes on where it was, by the job of any other', async () => {
    const { app, clock, mount } = await makeMount(await openAlone());
    await store(app, mount, { to: 30, not_after: clock.now - 10 });
    await app.store.commit([
      write(
        build.insertInto('pki_tidy').values({
          mount_id: mount.id,
          auto: '',
          due_at_ms: null,
          run_id: 'r',
          state: 'Running',
          request: JSON.stringify({
            ...tidySchema.parse({ tidy_cert_store: true }),
            safety_buffer: 1,
          }),
          counts: JSON.stringify({ cert_store_deleted_count: 12 }),
          progress: JSON.stringify({ work: 'tidy_cert_store', total: 42, done: 12 }),
          error: null,
          started_at_ms: clock.now * 1000,
          finished_at_ms: null,
          last_finished_at_ms: 0,
        }),
      ),
    ]);
    for (const job of tidyJobs) await runIfFree(app, job);
    await goOnTidying(app, mount.id);
    const status = await readTidyStatus(app, testCaller(mount));
    assert.equal(status.state, 'Finished');
    assert.equal(status.cert_store_deleted_count, 42);
    assert.equal(status.processed_count, 42);
  });

  test('a failure ends the tidying, and says so', async () => {
    const { app, clock, mount } = await makeMount(await openShared());
    await store(app, mount, { to: 3, not_after: clock.now - 10 });
    const failing: App = {
      ...app,
      commit: (caller, effects) =>
        effects.some(
          (effect) => 'sql' in effect && /delete from "pki_certificate"/.test(effect.sql),
        )
          ? Promise.reject(new Error('of the disk'))
          : app.commit(caller, effects),
    };
    const { status } = await tidy(failing, mount, { tidy_cert_store: true, safety_buffer: 1 });
    assert.equal(status.state, 'Error');
    assert.equal(status.error, 'internal error');
    assert.equal(
      (await tidy(app, mount, { tidy_cert_store: true, safety_buffer: 1 })).status.state,
      'Finished',
    );
  });

  test('a mount is tidied by itself when its interval is over, and not before', async () => {
    const { app, clock, mount } = await makeMount(await openAlone());
    await store(app, mount, { to: 3, not_after: clock.now - 10 });
    const patch = {
      enabled: true,
      tidy_cert_store: true,
      safety_buffer: 1,
      interval_duration: HOUR,
    };
    const runJob = async () => {
      for (const job of tidyJobs) await runIfFree(app, job);
      await goOnTidying(app, mount.id);
      return readTidyStatus(app, testCaller(mount));
    };
    assert.equal((await runJob()).state, 'Inactive');
    clock.now += 60;
    await writeAutoTidy(app, testCaller(mount), autoTidyPatchSchema.parse(patch));
    const first = await runJob();
    assert.equal(first.cert_store_deleted_count, 3);
    assert.ok(first.last_auto_tidy_finished);
    await store(app, mount, { to: 2, not_after: clock.now - 10 });
    clock.now += HOUR - 1;
    assert.equal((await runJob()).cert_store_deleted_count, 3);
    clock.now += 11;
    assert.equal((await runJob()).cert_store_deleted_count, 2);
  });

  test('what was due before a server began waits for the backoff', async () => {
    const { app, clock, mount } = await makeMount(await openAlone());
    const patch = {
      enabled: true,
      tidy_cert_store: true,
      min_startup_backoff_duration: 300,
      max_startup_backoff_duration: 300,
    };
    await writeAutoTidy(app, testCaller(mount), autoTidyPatchSchema.parse(patch));
    clock.now += 60;
    const runJob = async () => {
      for (const job of tidyJobs) await runIfFree(app, job);
      await goOnTidying(app, mount.id);
      return (await readTidyStatus(app, testCaller(mount))).state;
    };
    assert.equal(await runJob(), 'Inactive');
    clock.now += 299;
    assert.equal(await runJob(), 'Inactive');
    clock.now += 12;
    assert.equal(await runJob(), 'Finished');
  });

  test('counts of what is stored are told where they are maintained', async () => {
    const { app, clock, mount, issuer_id } = await makeMount(await openShared());
    await store(app, mount, { to: 3, not_after: clock.now + 10, revoked_by: issuer_id });
    const read = async () => {
      const status = await readTidyStatus(app, testCaller(mount));
      return [status.current_cert_store_count, status.current_revoked_cert_count];
    };
    assert.deepEqual(await read(), [null, null]);
    const patch = autoTidyPatchSchema.parse({ maintain_stored_certificate_counts: true });
    await writeAutoTidy(app, testCaller(mount), patch);
    assert.deepEqual(await read(), [4, 3]);
  });
});
