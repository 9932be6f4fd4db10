import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { openTestApp, testCaller, testMount } from '../../../../test/support/app.ts';
import { eachEngine } from '../../../../test/support/engines.ts';
import { copyRow, numbered } from '../../../../test/support/many-rows.ts';
import type { App } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import { runIfFree } from '../../../start/jobs.ts';
import { build } from '../../../store/database.ts';
import { write } from '../../../store/write.ts';
import { lockoutJobs } from './jobs.ts';
import { attemptLogIn, planUnlock, readLockedNames } from './operations.ts';
import { addFailure, findFailures, listFailures } from './store.ts';

const name = { method_id: 'm', name: 'ann' };
const mount = testMount({ kind: 'auth', path: 'auth/userpass/', type: 'userpass' });
const ann = testCaller(mount);
/** Somebody at another address. */
const bob = { ...ann, record: { ...ann.record, remote_address: '192.0.2.2' } };
const wrong = async () => undefined;
const right = async () => 'ann';

/** Says when something has come about so often. */
function times(count: number): { note(): void; reached: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let noted = 0;
  const note = (): void => {
    noted += 1;
    if (noted === count) resolve();
  };
  return { note, reached: promise };
}

/** What callers have who are counted once they wait for their turn: their clients may go meanwhile. */
function whoWait(count: number): { onGone(): () => void; reached: Promise<void> } {
  const { note, reached } = times(count);
  const onGone = () => {
    note();
    return () => {};
  };
  return { onGone, reached };
}

/** A check that goes on until it is let go; two of them take all places. */
function heldCheck(): { check(): Promise<undefined>; letGo(): void; bothBegun: Promise<void> } {
  const gate = Promise.withResolvers<undefined>();
  const begun = times(2);
  const check = (): Promise<undefined> => {
    begun.note();
    return gate.promise;
  };
  return { check, letGo: () => gate.resolve(undefined), bothBegun: begun.reached };
}

eachEngine('failed log-ins', (open) => {
  test('five lock a name, four do not, and a success forgets them', async () => {
    const { app } = await openTestApp(await open());
    for (let n = 0; n < 4; n++) assert.equal(await attemptLogIn(app, ann, name, wrong), undefined);
    const attempt = await attemptLogIn(app, ann, name, right);
    assert.equal(attempt?.found, 'ann');
    await app.store.commit(attempt?.effects ?? []);
    for (let n = 0; n < 5; n++) assert.equal(await attemptLogIn(app, ann, name, wrong), undefined);
    assert.equal(
      await attemptLogIn(app, ann, name, right),
      undefined,
      'locked, though it is right',
    );
    const other = { ...name, method_id: 'n' };
    assert.equal((await attemptLogIn(app, ann, other, right))?.found, 'ann', 'another mount');
  });

  /** Ann logs in from where she is, and somebody elsewhere then locks her name. */
  const lockedByOthers = async () => {
    const { app, clock } = await openTestApp(await open());
    await attemptLogIn(app, ann, name, right);
    for (let n = 0; n < 5; n++) await attemptLogIn(app, bob, name, wrong);
    return { app, clock };
  };

  test('a name that others have locked logs in from where it has before, and from nowhere else', async () => {
    const { app, clock } = await lockedByOthers();
    const attempt = await attemptLogIn(app, ann, name, right);
    assert.equal(attempt?.found, 'ann');
    await app.store.commit(attempt?.effects ?? []);
    assert.equal(await attemptLogIn(app, bob, name, right), undefined, 'the lock is still there');
    assert.deepEqual(await readLockedNames(app), [name]);
    const other = { ...name, name: 'eve' };
    for (let n = 0; n < 5; n++) await attemptLogIn(app, bob, other, wrong);
    assert.equal(await attemptLogIn(app, ann, other, right), undefined, 'another name');
    clock.now += 30 * 24 * 3600;
    for (let n = 0; n < 5; n++) await attemptLogIn(app, bob, name, wrong);
    assert.equal(await attemptLogIn(app, ann, name, right), undefined, 'it is too long ago');
  });

  test('where a name has logged in before, five failures in a row end that', async () => {
    const { app, clock } = await lockedByOthers();
    for (let n = 0; n < 4; n++) assert.equal(await attemptLogIn(app, ann, name, wrong), undefined);
    assert.equal((await attemptLogIn(app, ann, name, right))?.found, 'ann', 'after four');
    for (let n = 0; n < 5; n++) assert.equal(await attemptLogIn(app, ann, name, wrong), undefined);
    assert.equal(await attemptLogIn(app, ann, name, right), undefined, 'not after five');
    clock.now += 900;
    assert.equal((await attemptLogIn(app, bob, name, right))?.found, 'ann', 'nothing was added');
  });

  test('of many guesses at once from where a name has logged in, no more are looked at than may fail', async () => {
    const { app } = await lockedByOthers();
    let checks = 0;
    const guess = async () => {
      checks += 1;
      return undefined;
    };
    await Promise.all(Array.from({ length: 40 }, () => attemptLogIn(app, ann, name, guess)));
    assert.equal(checks, 5);
  });

  test('where fewer failures lock, fewer are left where a name has logged in', async () => {
    const { app } = await openTestApp(await open());
    const user_lockout = { ...app.config.user_lockout, lockout_threshold: 2 };
    const strict = { ...app, config: { ...app.config, user_lockout } };
    await attemptLogIn(strict, ann, name, right);
    for (let n = 0; n < 2; n++) await attemptLogIn(strict, ann, name, wrong);
    assert.equal(await attemptLogIn(strict, ann, name, right), undefined);
  });

  test('two checks go on at once, 64 of an address wait, and more are refused whoever they say they are', async () => {
    const { app } = await openTestApp(await open());
    const gate = Promise.withResolvers<void>();
    let running = 0;
    let most = 0;
    const slow = async () => {
      running += 1;
      most = Math.max(most, running);
      await gate.promise;
      running -= 1;
      return 'known';
    };
    const outcomes = Array.from({ length: 80 }, (_, n) =>
      attemptLogIn(app, ann, { method_id: 'm', name: `n${n}` }, slow).then(
        () => 'checked',
        (error: unknown) => (error instanceof Failure ? error.kind : 'broken'),
      ),
    );
    // Those who are refused are told so before any of the others has been checked.
    let refused = 0;
    for (const outcome of outcomes) {
      outcome.then((word) => {
        refused += word === 'rate_limited' ? 1 : 0;
        if (refused === 14) gate.resolve();
      });
    }
    const words = await Promise.all(outcomes);
    assert.equal(words.filter((word) => word === 'checked').length, 66);
    assert.equal(words.filter((word) => word === 'rate_limited').length, 14);
    assert.equal(most, 2);
  });

  test('whoever comes from elsewhere is checked next, however many wait at one address', async () => {
    const { app } = await openTestApp(await open());
    const order: string[] = [];
    const checking = (who: string) => async () => {
      order.push(who);
      return who;
    };
    const { check, letGo, bothBegun } = heldCheck();
    const held = Array.from({ length: 2 }, (_, n) =>
      attemptLogIn(app, ann, { method_id: 'm', name: `held${n}` }, check),
    );
    await bothBegun;
    const { onGone, reached: allWait } = whoWait(51);
    const flood = Array.from({ length: 50 }, (_, n) =>
      attemptLogIn(app, { ...ann, onGone }, { method_id: 'm', name: `n${n}` }, checking('flood')),
    );
    const right = attemptLogIn(app, { ...bob, onGone }, name, checking('bob'));
    // All of them have read what failed under their names and wait for a hash.
    await allWait;
    letGo();
    assert.equal((await right)?.found, 'bob');
    await Promise.all([...held, ...flood]);
    assert.ok(order.indexOf('bob') <= 2, `checked as number ${order.indexOf('bob') + 1}`);
  });

  test('a check whose client has gone is never begun', async () => {
    const { app } = await openTestApp(await open());
    const { check, letGo, bothBegun } = heldCheck();
    const held = Array.from({ length: 2 }, (_, n) =>
      attemptLogIn(app, ann, { method_id: 'm', name: `held${n}` }, check),
    );
    await bothBegun;
    const waiting = Promise.withResolvers<() => void>();
    const leaving = {
      ...ann,
      onGone: (leave: () => void) => {
        waiting.resolve(leave);
        return () => {};
      },
    };
    let checks = 0;
    const attempt = attemptLogIn(app, leaving, name, async () => {
      checks += 1;
      return 'ann';
    });
    const leave = await waiting.promise;
    leave();
    await assert.rejects(attempt, { kind: 'unavailable' });
    letGo();
    await Promise.all(held);
    assert.equal(checks, 0);
    assert.equal((await attemptLogIn(app, ann, name, right))?.found, 'ann');
  });

  test('who is unlocked stays so, whatever was being checked meanwhile', async () => {
    const { app } = await openTestApp(await open());
    // As another node does: what is under way here is known to nobody there.
    const other = { ...app };
    const { check, letGo, bothBegun } = heldCheck();
    const begun: Promise<unknown>[] = [];
    // Two are hashed at once; both have read that nothing stands against the name.
    for (let n = 0; n < 2; n++) begun.push(attemptLogIn(other, ann, name, check));
    await bothBegun;
    for (let n = 0; n < 5; n++) await attemptLogIn(app, bob, name, wrong);
    assert.equal(await attemptLogIn(app, bob, name, right), undefined, 'locked');
    await app.store.commit([planUnlock(app, name)]);
    for (let n = 0; n < 3; n++) assert.equal(await attemptLogIn(app, bob, name, wrong), undefined);
    letGo();
    await Promise.all(begun);
    assert.equal(
      (await attemptLogIn(app, bob, name, right))?.found,
      'ann',
      'three failures, not five',
    );
  });

  test('names that are locked are listed, others are not', async () => {
    const { app, clock } = await openTestApp(await open());
    const other = { method_id: 'ampw_1', name: 'bob' };
    for (let n = 0; n < 4; n++) await attemptLogIn(app, ann, name, wrong);
    for (let n = 0; n < 5; n++) await attemptLogIn(app, ann, other, wrong);
    assert.deepEqual(await readLockedNames(app), [other]);
    await attemptLogIn(app, ann, name, wrong);
    assert.deepEqual(await readLockedNames(app), [other, name]);
    await app.store.commit([planUnlock(app, other)]);
    assert.deepEqual(await readLockedNames(app), [name]);
    clock.now += 900;
    assert.deepEqual(await readLockedNames(app), []);
  });

  test('of very many locked names some are listed, each once and a few at a time', async () => {
    const { app } = await openTestApp(await open());
    const now = Math.floor(app.now() / 1000);
    const row = (at: number) => ({
      id: `id${String(at).padStart(6, '0')}`,
      method_id: `m${at % 3}`,
      name_sealed: new Uint8Array(0),
      now,
      since: now - 60,
      locked_since: now - 60,
      threshold: 1,
      unlocked: 0,
    });
    const count = app.config.user_lockout.lockout_threshold;
    for (let at = 0; at < 5_200; at += 400) {
      const names = Array.from({ length: 400 }, (_, n) => row(at + n));
      for (let n = 0; n < count; n += 1) {
        await app.store.commit(names.map((name) => addFailure({ ...name, threshold: count })));
      }
    }
    // Behind many that are tried and not locked.
    const tried = Array.from({ length: 600 }, (_, at) => ({ ...row(at), id: `a${at}` }));
    await app.store.commit(tried.map((name) => addFailure({ ...name, threshold: count })));
    const listed = await readLockedNames(app);
    assert.equal(listed.length, 5_000);
    const methods = listed.map(({ method_id }) => method_id);
    assert.deepEqual(methods, methods.toSorted());
    assert.equal(methods.filter((method) => method === 'm0').length, 1_667);
    assert.equal((await readLockedNames(app, 'm2')).length, 1_733, 'also of the last method');
  });

  test('a name that does not open is listed without it, and the others with theirs; the log says so once', async () => {
    const { app, clock } = await openTestApp(await open());
    const said: string[] = [];
    const log = pino({}, { write: (line: string) => void said.push(JSON.parse(line).msg) });
    const logged: App = { ...app, log };
    for (const one of ['ben', 'eve']) {
      const tried = { method_id: 'm', name: one };
      for (let n = 0; n < 5; n++) await attemptLogIn(app, ann, tried, wrong);
    }
    const [first, second] = await listFailures(app.db, { after: '', limit: 2 });
    assert.ok(first && second);
    // Each is sealed for its own row.
    const { id, name_sealed } = first;
    const statement = build.updateTable('login_failure').set({ name_sealed });
    await app.store.commit([write(statement.where('id', '!=', id))]);
    const namesNow = async () => (await readLockedNames(logged)).map((locked) => locked.name);
    const [none, one, ...more] = (await namesNow()).sort();
    assert.equal(none, '');
    assert.match(one ?? '', /^(ben|eve)$/);
    assert.deepEqual(more, []);
    await namesNow();
    assert.deepEqual(said, ['names that are locked do not open']);
    clock.now += 60;
    await namesNow();
    assert.equal(said.length, 2, 'again after a while');
    app.barrier.seal();
    await assert.rejects(readLockedNames(logged), { kind: 'unavailable' });
  });

  test('a name longer than any user’s is counted and not kept', async () => {
    const { app } = await openTestApp(await open());
    const long = { method_id: 'm', name: 'x'.repeat(600) };
    for (let n = 0; n < 5; n++) await attemptLogIn(app, ann, long, wrong);
    assert.equal(await attemptLogIn(app, ann, long, right), undefined);
    assert.deepEqual(await readLockedNames(app), [{ method_id: 'm', name: '' }]);
  });

  test('a lock ends after its time, trying does not make it longer, and counting begins anew', async () => {
    const { app, clock } = await openTestApp(await open());
    for (let n = 0; n < 5; n++) await attemptLogIn(app, ann, name, wrong);
    clock.now += 899;
    assert.equal(await attemptLogIn(app, ann, name, right), undefined);
    clock.now += 1;
    assert.equal(await attemptLogIn(app, ann, name, wrong), undefined);
    assert.equal((await attemptLogIn(app, ann, name, right))?.found, 'ann');
  });

  /** One more failure than there were, of a check that began before them: as another node may have it. */
  const LATE: [
    what: string,
    rules: [reset: number, lock: number],
    before: number,
    later: number,
    counted: number,
  ][] = [
    ['locks', [900, 900], 4, 0, 5],
    ['comes when it is locked', [900, 900], 5, 0, 5],
    ['comes when it is locked still', [900, 900], 5, 899, 5],
    ['comes when the lock is over', [900, 900], 5, 900, 1],
    ['comes when the lock lasts, though others are forgotten', [60, 900], 5, 899, 5],
    ['comes when others are forgotten', [60, 900], 4, 60, 1],
    ['comes when others are not forgotten yet', [60, 900], 4, 59, 5],
    ['comes when a short lock is over', [900, 60], 5, 60, 1],
    ['comes when a short lock lasts', [900, 60], 5, 59, 5],
  ];
  for (const [what, [reset, lock], before, later, counted] of LATE) {
    test(`a failure that was being checked elsewhere: ${what}`, async () => {
      const { app } = await openTestApp(await open());
      const failAt = async (now: number): Promise<void> => {
        const times = { now, since: now - reset, locked_since: now - lock };
        const row = { id: 'x', method_id: 'm', name_sealed: new Uint8Array(0) };
        await app.store.commit([addFailure({ ...row, ...times, threshold: 5, unlocked: 0 })]);
      };
      for (let n = 0; n < before; n += 1) await failAt(1_000);
      await failAt(1_000 + later);
      const last_failed_at = before === 5 && counted === 5 ? 1_000 : 1_000 + later;
      assert.deepEqual(await findFailures(app.db, 'x'), {
        failures: counted,
        last_failed_at,
        unlocked: 0,
      });
    });
  }

  test('failures are forgotten when none came for long', async () => {
    const { app, clock } = await openTestApp(await open());
    for (let n = 0; n < 4; n++) await attemptLogIn(app, ann, name, wrong);
    clock.now += 900;
    await attemptLogIn(app, ann, name, wrong);
    assert.equal((await attemptLogIn(app, ann, name, right))?.found, 'ann');
  });

  test('of many guesses at once no more are looked at than may fail', async () => {
    const { app } = await openTestApp(await open());
    let checks = 0;
    const guess = async () => {
      checks += 1;
      return undefined;
    };
    await Promise.all(Array.from({ length: 40 }, () => attemptLogIn(app, ann, name, guess)));
    assert.equal(checks, 5);
  });

  test('unproven callers who wait under a name keep nobody waiting who has logged in with it', async () => {
    const { app } = await openTestApp(await open());
    await attemptLogIn(app, ann, name, right);
    const { check, letGo } = heldCheck();
    // Five may be checked, 64 may wait for those, and the others are refused.
    const refused = times(90 - 5 - 64);
    const unproven = Array.from({ length: 90 }, (_, at) => {
      const record = { ...ann.record, remote_address: `198.51.${at}.2` };
      return attemptLogIn(app, { ...ann, record }, name, check).catch(refused.note);
    });
    await refused.reached;
    const elsewhere = attemptLogIn(app, bob, name, right);
    await assert.rejects(elsewhere, { kind: 'rate_limited' }, 'from elsewhere one is one of them');
    const { onGone, reached: isWaiting } = whoWait(1);
    const proved = attemptLogIn(app, { ...ann, onGone }, name, right);
    await isWaiting;
    letGo();
    assert.equal((await proved)?.found, 'ann');
    await Promise.all(unproven);
  });

  test('of many who are right at once none is refused', async () => {
    const { app } = await openTestApp(await open());
    const all = await Promise.all(
      Array.from({ length: 40 }, () => attemptLogIn(app, ann, name, right)),
    );
    assert.equal(all.filter((one) => one?.found === 'ann').length, 40);
  });

  test('with the lockout disabled nothing is counted', async () => {
    const { app } = await openTestApp(await open());
    const user_lockout = { ...app.config.user_lockout, disable_lockout: true };
    const free = { ...app, config: { ...app.config, user_lockout } };
    for (let n = 0; n < 9; n++) await attemptLogIn(free, ann, name, wrong);
    assert.equal((await attemptLogIn(free, ann, name, right))?.found, 'ann');
    assert.equal((await attemptLogIn(app, ann, name, right))?.found, 'ann');
  });

  test('rows that count no more are tidied away', async () => {
    const { app, clock } = await openTestApp(await open());
    await attemptLogIn(app, ann, name, wrong);
    const rows = () => app.db.selectFrom('login_failure').selectAll().execute();
    for (const job of lockoutJobs) await runIfFree(app, job);
    assert.equal((await rows()).length, 1);
    clock.now += 901;
    for (const job of lockoutJobs) await runIfFree(app, job);
    assert.equal((await rows()).length, 0);
  });

  test('however many they are, they are tidied away a thousand in a write set', async () => {
    const { app, clock } = await openTestApp(await open());
    await attemptLogIn(app, ann, name, wrong);
    const { id } = await app.db.selectFrom('login_failure').select('id').executeTakeFirstOrThrow();
    await copyRow(app.store, 'login_failure', {
      of: { id },
      copies: 2_500,
      changes: { id: numbered('id') },
    });
    clock.now += 901;
    await attemptLogIn(app, ann, { ...name, name: 'late' }, wrong);
    const left: number[] = [];
    const counted = {
      ...app,
      commit: async (...set: Parameters<App['commit']>) => {
        await app.commit(...set);
        left.push((await app.db.selectFrom('login_failure').select('id').execute()).length);
      },
    };
    for (const job of lockoutJobs) await runIfFree(counted, job);
    assert.deepEqual(left, [1_502, 502, 1]);
  });
});
