import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import {
  enableTestMount,
  openTestApp,
  requireTestMount,
  testCaller,
} from '../../../test/support/app.ts';
import { eachPlace } from '../../../test/support/engines.ts';
import type { App } from '../../app/app.ts';
import type { JobRun } from '../../app/job.ts';
import type { Mount } from '../../app/mount.ts';
import { acquireLease, renewLease } from '../../store/job-lock.ts';
import type { Store } from '../../store/store.ts';
import type { Certificate } from '../../x509/certificate.ts';
import { insertCertificate, markRevoked } from '../certificates/store.ts';
import { revokeIssuer } from '../issuers/revocation.operations.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import { readMountState } from '../mount-state/operations.ts';
import { rootFields } from '../profile/root.ts';
import { generateRoot } from '../roots/operations.ts';
import { writeWarnings } from './settings.operations.ts';
import type { WarningPatch } from './settings.ts';
import { deleteMessage, deleteMessages, findMessage, listWaiting, readWaiting } from './store.ts';
import { IssuerSuccessors } from './successors.operations.ts';
import { lookAhead } from './walking.operations.ts';

const DAY = 86_400;
const URL_OF_RECEIVER = 'https://receiver.test/hook';

interface Listed {
  serial: string;
  days?: number;
  names?: string[];
  role?: string;
  lifetime?: number;
  issuer_id?: string;
  revoked?: boolean;
}

async function openWorld(store: Store, settings: WarningPatch = {}) {
  const { app, clock } = await openTestApp(store);
  await enableTestMount(app, { kind: 'secret', path: 'pki/', type: 'pki' });
  const mount = await requireTestMount(app, 'pki/');
  const set = (patch: WarningPatch) => writeWarnings(app, testCaller(mount), patch);
  await set({ enabled: true, webhook_url: URL_OF_RECEIVER, ...settings });
  const add = async (...listed: Listed[]): Promise<void> => {
    for (const { serial, days = 5, names = [], lifetime = 365, ...rest } of listed) {
      const { role = 'web', issuer_id = 'i', revoked = false } = rest;
      const not_after = Math.round(clock.now + days * DAY);
      const not_before = not_after - lifetime * DAY;
      const row = { serial, issuer_id, role, subject_cn: names[0] ?? '', not_before, not_after };
      await store.commit(insertCertificate(mount.id, { ...row, der: Uint8Array.of(1) }, names));
      const mark = { mount_id: mount.id, serial, revoked_at_ms: 1, revocation_reason: 0 };
      if (revoked) await store.commit([markRevoked(mark)]);
    }
  };
  const look = async (on: App = app, holder = 'local'): Promise<void> => {
    await lookAhead(on, await turnOf(on, `test/${holder}`));
  };
  const oldest = async () => {
    const [id = ''] = await listWaiting(app.db, mount.id, 'webhook');
    return findMessage(app.db, mount.id, 'webhook', id);
  };
  /** What is on its way, which counts as taken. */
  const take = async (): Promise<[before: number, serials: string[]][]> => {
    const taken: [number, string[]][] = [];
    for (;;) {
      const row = await oldest();
      if (!row) return taken;
      const { before, certificates } = JSON.parse(row.body);
      const serials = certificates.map((one: { serial_number: string }) => one.serial_number);
      taken.push([before / DAY, serials]);
      await store.commit([deleteMessage(row)]);
    }
  };
  return { app, clock, mount, set, add, look, oldest, take };
}

async function generateRootIn(app: App, mount: Mount, fields: object): Promise<string> {
  const schema = z.object({ exported: z.string(), ...rootFields });
  const root = schema.parse({ exported: 'internal', key_type: 'ec', ...fields });
  return (await generateRoot(app, testCaller(mount), root)).data.issuer_id;
}

async function turnOf(app: App, name: string): Promise<JobRun> {
  const lease = await acquireLease(app.store, {
    name,
    holder: name,
    now_ms: app.now(),
    ttl_ms: 60_000,
  });
  assert.ok(lease);
  return {
    commit: () => Promise.reject(new Error('not asked for')),
    fence: () => renewLease(lease, app.now() + 60_000),
    stopping: false,
  };
}

eachPlace('warnings before certificates end', (newPlace, engine) => {
  const open = async () => (await newPlace()).open();

  test('each certificate is told of once for each time ahead, also when nobody looked for days', async () => {
    const { clock, add, look, take } = await openWorld(await open());
    await add({ serial: '0a', days: 40 }, { serial: '0b', days: 400 });
    await look();
    assert.deepEqual(await take(), []);
    clock.now += 11 * DAY;
    await look();
    await look();
    assert.deepEqual(await take(), [[30, ['0a']]]);
    clock.now += 20 * DAY;
    await look();
    assert.deepEqual(await take(), [], 'nine days before');
    // Down from nine days before its end to half a day before.
    clock.now += 8.5 * DAY;
    await look();
    await look();
    assert.deepEqual(await take(), [[1, ['0a']]], 'one warning, of the nearest');
    clock.now += DAY;
    await look();
    assert.deepEqual(await take(), []);
  });

  test('what has ended while nobody looked is told of once; what had ended before anybody was to be told, never', async () => {
    const { clock, add, look, take } = await openWorld(await open());
    await add({ serial: '0e', days: -1 }, { serial: '0f', days: 35 });
    await look();
    assert.deepEqual(await take(), []);
    clock.now += 50 * DAY;
    await look();
    await look();
    assert.deepEqual(await take(), [[1, ['0f']]]);
  });

  test('an issuer is succeeded by another of its subject or its key that ends later and is relied on', async () => {
    const { app, mount } = await openWorld(await open());
    const root = await generateRootIn(app, mount, { common_name: 'R', ttl: '24h' });
    const { issuers } = await readMountState(app, mount.id);
    const old = issuers.get(root);
    assert.ok(old);
    const { subject, subjectPublicKeyInfo, notAfter } = old.certificate;
    const other = Uint8Array.of(1);
    const later = notAfter + 1;
    const cases: [
      why: string,
      certificate: Partial<Certificate>,
      rest: Partial<Issuer>,
      has: boolean,
    ][] = [
      ['its subject', { subjectPublicKeyInfo: other, notAfter: later }, {}, true],
      ['its key', { subject: other, notAfter: later }, {}, true],
      ['neither', { subject: other, subjectPublicKeyInfo: other, notAfter: later }, {}, false],
      [
        'its key as a subject',
        { subject: subjectPublicKeyInfo, subjectPublicKeyInfo: subject, notAfter: later },
        {},
        false,
      ],
      ['the same end', { notAfter }, {}, false],
      ['revoked', { notAfter: later }, { revoked_at_ms: 1 }, false],
      ['signed by a revoked one', { notAfter: later }, { signed_by: 'lost' }, false],
      ['beneath a revoked one', { notAfter: later }, { signed_by: 'below' }, false],
      ['signed by one that is not', { notAfter: later }, { signed_by: 'kept' }, true],
    ];
    for (const [why, changed, rest, has] of cases) {
      const certificate = { ...old.certificate, ...changed };
      const unlike = {
        ...old.certificate,
        subject: Uint8Array.of(2),
        subjectPublicKeyInfo: Uint8Array.of(2),
      };
      const all = [
        old,
        { ...old, id: 'next', certificate, ...rest },
        { ...old, id: 'lost', certificate: unlike, revoked_at_ms: 1 },
        { ...old, id: 'below', certificate: unlike, signed_by: 'lost' },
        { ...old, id: 'kept', certificate: unlike },
      ];
      const successors = new IssuerSuccessors(new Map(all.map((one) => [one.id, one])));
      assert.equal(successors.has(old), has, why);
    }
  });

  test('what a revoked issuer has signed succeeds nothing', async () => {
    const { app, mount, add, look, take } = await openWorld(await open());
    const caller = testCaller(mount);
    const issuer_id = await generateRootIn(app, mount, { common_name: 'R', issuer_name: 'lost' });
    const names = ['a.test'];
    await add({ serial: '01', names }, { serial: '02', days: 300, names, issuer_id });
    await add({ serial: '03', names: ['b.test'] }, { serial: '04', days: 300, names: ['b.test'] });
    await revokeIssuer(app, caller, { issuer_ref: 'lost' });
    await look();
    assert.deepEqual(await take(), [[7, ['01']]]);
  });

  test('a certificate whose successor is revoked later is told of at the next time ahead, not again at the same', async () => {
    const { app, clock, mount, add, look, take } = await openWorld(await open());
    await add({ serial: '01', names: ['a.test'] }, { serial: '02', days: 300, names: ['a.test'] });
    await look();
    const mark = { mount_id: mount.id, serial: '02', revoked_at_ms: 1, revocation_reason: 0 };
    await app.store.commit([markRevoked(mark)]);
    await look();
    assert.deepEqual(await take(), [], 'seven days before it was looked at');
    clock.now += 4.5 * DAY;
    await look();
    assert.deepEqual(await take(), [[1, ['01']]]);
  });

  test('what is stored within the last time ahead is never told of', async () => {
    const { clock, add, look, take } = await openWorld(await open());
    await add({ serial: '01', days: 0.6 });
    await look();
    assert.deepEqual(await take(), [[1, ['01']]], 'the walk has got so far');
    await add({ serial: '02', days: 0.5 }, { serial: '03', days: 2 });
    await look();
    clock.now += 0.7 * DAY;
    await look();
    assert.deepEqual(
      (await take()).flatMap(([, serials]) => serials),
      ['03'],
    );
    clock.now += 10 * DAY;
    await look();
    assert.deepEqual((await take()).flatMap(([, serials]) => serials).includes('02'), false);
  });

  test('whatever is revoked, short-lived or not asked for is not told of', async () => {
    const world = await openWorld(await open(), { roles: ['web'] });
    const { add, look, take } = world;
    await add(
      { serial: '01', days: 5, revoked: true },
      { serial: '02', days: 3, lifetime: 3 },
      { serial: '03', days: 5, role: 'mail' },
      { serial: '04', days: 5 },
    );
    await look();
    assert.deepEqual(await take(), [[7, ['04']]]);
  });

  const successors: [why: string, other: Omit<Listed, 'serial'>, isTold: boolean][] = [
    ['the same names, later', { names: ['a.test', 'b.test'], days: 90 }, false],
    ['the same names in another order and case', { names: ['B.test', 'A.TEST'], days: 90 }, false],
    ['further names', { names: ['a.test', 'b.test', 'c.test'], days: 90 }, false],
    ['fewer names', { names: ['a.test'], days: 90 }, true],
    ['another name in place of one', { names: ['a.test', 'c.test'], days: 90 }, true],
    ['a revoked one', { names: ['a.test', 'b.test'], days: 90, revoked: true }, true],
    ['one that ends at the same time', { names: ['a.test', 'b.test'], days: 5 }, true],
    ['one that ends before', { names: ['a.test', 'b.test'], days: 4 }, true],
    ['another role', { names: ['a.test', 'b.test'], days: 90, role: 'mail' }, false],
  ];
  test('there is silence where a successor has all the names and ends later', async () => {
    const { app, mount, add, look, take } = await openWorld(await open());
    for (const [at, [, other]] of successors.entries()) {
      const own = (name: string): string => name.replace(/test$/i, `t${at}.example`);
      await add(
        { serial: `a${at}`, names: ['a.test', 'b.test'].map(own) },
        { serial: `b${at}`, ...other, names: (other.names ?? []).map(own) },
      );
    }
    await look();
    const told = (await take()).flatMap(([, serials]) => serials);
    for (const [at, [why, , isTold]] of successors.entries()) {
      assert.equal(told.includes(`a${at}`), isTold, why);
    }
    assert.equal((await readWaiting(app.db, mount.id, 'webhook')).count, 0);
  });

  test('a successor is found among hundreds of one name, and each of these is looked for once', async () => {
    const { add, look, take } = await openWorld(await open());
    const listed = Array.from({ length: 450 }, (_, at) => ({
      serial: `${at}`.padStart(4, '0'),
      names: ['one.test'],
      days: 2 + at / 1000,
    }));
    await add(...listed);
    await look();
    assert.deepEqual(await take(), [[7, ['0449']]], 'the last of all');
  });

  test('certificates of thousands of names that are almost the same are told apart in short turns', async () => {
    const { add, look, take } = await openWorld(await open());
    const shared = Array.from({ length: 2_000 }, (_, at) => `n${at}.x.test`);
    const listed = Array.from({ length: 12 }, (_, at) => `${at}`.padStart(2, '0'));
    for (const serial of listed) await add({ serial, names: [...shared, `${serial}.zz.test`] });
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    count();
    await look();
    isOver = true;
    assert.ok(turns > listed.length * 5, `${turns}`);
    assert.deepEqual(await take(), [[7, listed]]);
  });

  test('of a receiver that takes nothing no more than 64 messages wait, and nothing is lost', async () => {
    const { app, mount, clock, set, add, look, oldest, take } = await openWorld(await open(), {
      before: ['1h'],
    });
    await look();
    for (let at = 0; at < 70; at += 1) {
      const serial = `${at}`.padStart(2, '0');
      await add({ serial, days: 0.02 });
      await look();
      clock.now += 1;
    }
    assert.equal((await readWaiting(app.db, mount.id, 'webhook')).count, 64);
    const first = await oldest();
    assert.match(first?.body ?? '', /"serial_number":"00"/);
    await app.store.commit([deleteMessages(mount.id, 'webhook')]);
    clock.now += DAY;
    await look();
    assert.deepEqual(await take(), [[1 / 24, ['64', '65', '66', '67', '68', '69']]]);
    await set({ enabled: false });
    await add({ serial: 'ff', days: 0.01 });
    await look();
    assert.deepEqual(await take(), []);
  });

  test('two nodes that look at once tell once', async () => {
    const place = await newPlace();
    const { app, add, look, take } = await openWorld(await place.open());
    // One process at a time has a directory of SQLite.
    const store = engine === 'sqlite' ? app.store : await place.open('other');
    const other: App = { ...app, store, db: store.db };
    await add({ serial: '0a' }, { serial: '0b' });
    await Promise.all([look(), look(other, 'other')]);
    assert.deepEqual(await take(), [[7, ['0a', '0b']]]);
    await look(other, 'other');
    assert.deepEqual(await take(), []);
  });

  test('a time ahead that comes later begins with what ends from then on', async () => {
    const { set, add, look, take } = await openWorld(await open(), { before: ['30d'] });
    await add({ serial: '0a', days: 5 }, { serial: '0b', days: 20 });
    await look();
    assert.deepEqual(await take(), [[30, ['0a', '0b']]]);
    await set({ before: ['30d', '7d'] });
    await look();
    assert.deepEqual(await take(), [[7, ['0a']]]);
  });
});
