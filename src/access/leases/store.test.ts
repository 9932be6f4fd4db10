import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, requireTestMount, testCaller } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { leaseOf, ISSUED_AT as NOW } from '../../../test/support/leases.ts';
import type { App, LeaseKind } from '../../app/app.ts';
import type { Lease } from '../../app/lease.ts';
import { Failure } from '../../core/failure.ts';
import { listLeases } from '../auth/leases/operations.ts';
import { deleteTree } from '../tokens/ending.store.ts';
import { removeEnded } from '../tokens/expiration.operations.ts';
import { prepareRootToken } from '../tokens/minting.operations.ts';
import { endLease, workOf } from './ending.operations.ts';
import { endDueLeases } from './expiration.operations.ts';
import { deleteLease, findLease, findLivingLease, insertLease, listRange } from './store.ts';
import { listDue, listOfTurn } from './turns.store.ts';

const PAGE = { after: undefined, limit: 10 };

async function newToken(app: App): Promise<string> {
  const { token, effects } = prepareRootToken(app);
  await app.store.commit(effects);
  return token.id;
}

eachEngine('leases', (open) => {
  test('a lease reads back as written, until the second that it ends', async () => {
    const { app } = await openTestApp(await open());
    const lease = leaseOf('a/b/c');
    await app.store.commit([insertLease(lease)]);
    assert.deepEqual(await findLivingLease(app.db, 'a/b/c', NOW + 9), lease);
    assert.equal(await findLivingLease(app.db, 'a/b/c', NOW + 10), undefined);
    assert.deepEqual(await findLease(app.db, 'a/b/c'), lease);
  });

  test('a page of leases has few of them where what they keep is long, and none is left out', async () => {
    const { app } = await openTestApp(await open());
    const ids = Array.from({ length: 9 }, (_, at) => `a/${at}`);
    const token_id = await newToken(app);
    for (const id of ids) {
      const data = { lease_id: 'x'.repeat(1_000_000) };
      await app.store.commit([insertLease(leaseOf(id, { token_id, data, expires_at: NOW }))]);
    }
    await app.store.commit([deleteTree(token_id)]);
    await removeEnded(app, [token_id]);
    const after = (last: Lease | undefined) => ({ after: last?.id ?? '', limit: 200 });
    const of = { mount_id: '', turn: token_id };
    const place = (last: Lease | undefined) => last && { ...of, id: last.id };
    const ways: [name: string, read: (last: Lease | undefined) => Promise<Lease[]>][] = [
      ['of a range', (last) => listRange(app.db, { from: 'a/', to: 'a0' }, after(last))],
      [
        'of a turn',
        async (last) => (await listOfTurn(app.db, of, after(last))).map(({ lease }) => lease),
      ],
      ['due', async (last) => (await listDue(app.db, { after: place(last), limit: 200 })).leases],
    ];
    for (const [name, read] of ways) {
      const found: string[] = [];
      for (let page = await read(undefined); page.length > 0; page = await read(page.at(-1))) {
        assert.ok(page.length <= 3, `${name}: ${page.length} at once`);
        found.push(...page.map(({ id }) => id));
      }
      assert.deepEqual(found, ids, name);
    }
  });

  test('a lease is due when its token is ended, and cannot be bound to one that is', async () => {
    const { app } = await openTestApp(await open());
    const token_id = await newToken(app);
    await app.store.commit([
      insertLease(leaseOf('a/1', { token_id })),
      insertLease(leaseOf('a/2')),
    ]);
    assert.deepEqual((await listDue(app.db, PAGE)).leases, []);
    await app.store.commit([deleteTree(token_id)]);
    assert.equal(await findLivingLease(app.db, 'a/1', NOW), undefined, 'before it is removed');
    await removeEnded(app, [token_id]);
    const { leases: due } = await listDue(app.db, PAGE);
    assert.deepEqual(
      due.map(({ id }) => id),
      ['a/1'],
    );
    assert.equal(await findLivingLease(app.db, 'a/1', NOW), undefined);
    assert.ok(await findLivingLease(app.db, 'a/2', NOW), 'one without a token stays');
    const late = insertLease(leaseOf('a/3', { token_id }));
    await assert.rejects(app.store.commit([late]), { kind: 'conflict' });
  });

  test('a lease is ended by one of many, with what it stands for in the same write set', async () => {
    const { app } = await openTestApp(await open());
    let plans = 0;
    const counting: App = {
      ...app,
      leaseKinds: {
        test: {
          async planEnd() {
            plans += 1;
            return { effects: [insertLease(leaseOf('trace'))] };
          },
        },
      },
    };
    const lease = leaseOf('a/1');
    await app.store.commit([insertLease(lease)]);
    const work = workOf(counting, testCaller(await requireTestMount(app, 'sys/')));
    await Promise.all(Array.from({ length: 8 }, () => endLease(counting, work, lease)));
    assert.ok(plans >= 1);
    assert.equal(await findLease(app.db, 'a/1'), undefined);
    assert.ok(await findLease(app.db, 'trace'));
  });

  test('one that cannot be ended stays, and holds up none of the others', async () => {
    const { app, clock } = await openTestApp(await open());
    const kinds: App['leaseKinds'] = {
      test: { planEnd: async () => ({ effects: [] }) },
      broken: { planEnd: () => Promise.reject(new Error('out of order')) },
    };
    const failing: App = { ...app, leaseKinds: kinds };
    await app.store.commit([
      insertLease(leaseOf('a/1', { kind: 'broken' })),
      insertLease(leaseOf('a/2')),
    ]);
    clock.now = NOW + 60;
    const caller = testCaller(await requireTestMount(app, 'sys/'));
    await endDueLeases(failing, workOf(failing, caller));
    assert.ok(await findLease(app.db, 'a/1'));
    assert.equal(await findLease(app.db, 'a/2'), undefined);
    const work = workOf(failing, caller);
    await endLease(failing, work, leaseOf('a/1', { kind: 'broken' }), { force: true });
    assert.equal(await findLease(app.db, 'a/1'), undefined, 'by force');
  });

  test('a run that fails begins nothing more, and is over when all that it began has ended', async () => {
    const { app, clock } = await openTestApp(await open());
    let [asked, lost] = [0, 0];
    const answered = Promise.withResolvers<void>();
    const whose = { whom: 'server', party: 'project', site: 'org' };
    const kinds: App['leaseKinds'] = {
      asking: {
        tellWhose: () => async () => whose,
        async planEnd() {
          asked += 1;
          await answered.promise;
          return { effects: [] };
        },
      },
      lost: {
        tellWhose: () => () => {
          lost += 1;
          // Looked at twice: for what is asked, and for what needs nobody.
          if (lost === 2) setImmediate(answered.resolve);
          throw new Error('lost');
        },
        planEnd: async () => ({ effects: [] }),
      },
    };
    const failing: App = { ...app, leaseKinds: kinds };
    // One server is asked four things at once for one project.
    const ids = ['a/1', 'a/2', 'a/3', 'a/4', 'a/5'];
    await app.store.commit([
      ...ids.map((id) => insertLease(leaseOf(id, { kind: 'asking' }))),
      insertLease(leaseOf('b/1', { kind: 'lost' })),
    ]);
    clock.now = NOW + 60;
    const caller = testCaller(await requireTestMount(app, 'sys/'));
    const left: string[] = [];
    const run = endDueLeases(failing, workOf(failing, caller)).finally(async () => {
      for (const id of ids) if (await findLease(app.db, id)) left.push(id);
    });
    await assert.rejects(run, /lost/);
    assert.deepEqual(left, ['a/5']);
    assert.equal(asked, 4);
  });

  test('one that was asked to end in vain goes behind all that were not', async () => {
    const { app, clock } = await openTestApp(await open());
    const asked: string[] = [];
    const answers: Record<string, Failure | undefined> = {
      'a/1': new Failure('unavailable', 'it is away'),
      'a/2': new Failure('unavailable', 'it was not asked', { retry_after: 1 }),
    };
    const whose = { whom: 'server', party: 'project', site: 'org' };
    const kinds: App['leaseKinds'] = {
      asking: {
        tellWhose: () => async () => whose,
        async planEnd(_, { id }) {
          asked.push(id);
          const refusal = answers[id];
          if (refusal) throw refusal;
          return { effects: [] };
        },
      },
    };
    const asking: App = { ...app, leaseKinds: kinds };
    const add = (id: string, after: number) =>
      insertLease(leaseOf(id, { kind: 'asking', expires_at: NOW + after }));
    await app.store.commit([add('a/1', 1), add('a/2', 2)]);
    clock.now = NOW + 60;
    const caller = testCaller(await requireTestMount(app, 'sys/'));
    const run = async (): Promise<string[]> => {
      asked.length = 0;
      await endDueLeases(asking, workOf(asking, caller));
      return [...asked];
    };
    assert.deepEqual(await run(), ['a/1', 'a/2']);
    await app.store.commit([add('a/3', 3)]);
    assert.deepEqual(await run(), ['a/2', 'a/3', 'a/1']);
    answers['a/2'] = new Failure('unavailable', 'it is away, too');
    assert.deepEqual(await run(), ['a/2', 'a/1']);
  });

  const whose = { whom: 'server', party: 'project', site: 'org' };
  const failures: [what: string, asking: boolean, error: Error, isEverLess: boolean][] = [
    ['that cannot be ended', false, new Error('out of order'), true],
    ['whose server refuses it', true, new Failure('unavailable', 'status 500'), true],
    ['of which nobody was asked', true, new Failure('unavailable', 'x', { retry_after: 1 }), false],
  ];
  for (const [what, asking, error, isEverLess] of failures) {
    const when = isEverLess ? 'ever less, every ten minutes at last' : 'each time';
    test(`one ${what} is tried and logged ${when}`, async (t) => {
      const { app, clock } = await openTestApp(await open());
      let [tried, mended] = [0, false];
      const kind: LeaseKind = {
        ...(asking ? { tellWhose: () => async () => whose } : {}),
        async planEnd() {
          tried += 1;
          if (!mended) throw error;
          return { effects: [] };
        },
      };
      const failing: App = { ...app, leaseKinds: { failing: kind } };
      const logged = t.mock.method(app.log, 'error').mock;
      await app.store.commit([insertLease(leaseOf('a/1', { kind: 'failing' }))]);
      clock.now = NOW + 60;
      const caller = testCaller(await requireTestMount(app, 'sys/'));
      const runs = async (count: number): Promise<number> => {
        const from = tried;
        for (let run = 0; run < count; run++) {
          clock.now += 10;
          await endDueLeases(failing, workOf(failing, caller));
        }
        assert.equal(logged.callCount(), tried);
        return tried - from;
      };
      // At 10 seconds, 20, 30, 50, 90, 170 and 330.
      assert.equal(await runs(64), isEverLess ? 7 : 64);
      assert.equal(await runs(240), isEverLess ? 4 : 240);
      mended = true;
      for (let run = 0; run < 60; run++) {
        clock.now += 10;
        await endDueLeases(failing, workOf(failing, caller));
      }
      assert.equal(await findLease(app.db, 'a/1'), undefined);
    });
  }

  test('a list skips what is beneath a segment, however much that is', async () => {
    const { app } = await openTestApp(await open());
    const many = Array.from({ length: 450 }, (_, i) => leaseOf(`pki/issue/web/${1000 + i}`));
    const others = [leaseOf('pki/sign/web/1'), leaseOf('zoo/1'), leaseOf('pki2/1')];
    await app.store.commit([...many, ...others].map(insertLease));
    const caller = testCaller(await requireTestMount(app, 'sys/'));
    const list = async (prefix: string) => (await listLeases(app, caller, { prefix })).data;
    assert.deepEqual(await list(''), { keys: ['pki/', 'pki2/', 'zoo/'] });
    assert.deepEqual(await list('pki'), { keys: ['issue/', 'sign/'] });
    await app.store.commit([deleteLease({ id: 'zoo/1' })]);
    await assert.rejects(listLeases(app, caller, { prefix: 'zoo' }), { kind: 'not_found' });
  });
});
