import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { Failure } from '../../core/failure.ts';
import { runIfFree } from '../../jobs.ts';
import { lockoutJobs } from './jobs.ts';
import { attemptLogIn } from './operations.ts';

const name = { mount_id: 'm', name: 'ann' };
const wrong = async () => undefined;
const right = async () => 'ann';

eachEngine('failed log-ins', (open) => {
  test('five lock a name, four do not, and a success forgets them', async () => {
    const { app } = await openTestApp(await open());
    for (let n = 0; n < 4; n++) assert.equal(await attemptLogIn(app, name, wrong), undefined);
    const attempt = await attemptLogIn(app, name, right);
    assert.equal(attempt?.found, 'ann');
    await app.store.commit(attempt?.effects ?? []);
    for (let n = 0; n < 5; n++) assert.equal(await attemptLogIn(app, name, wrong), undefined);
    assert.equal(await attemptLogIn(app, name, right), undefined, 'locked, though it is right');
    const other = { ...name, mount_id: 'n' };
    assert.equal((await attemptLogIn(app, other, right))?.found, 'ann', 'another mount');
  });

  test('two checks go on at once, 64 wait, and more are refused whoever they say they are', async () => {
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
      attemptLogIn(app, { mount_id: 'm', name: `n${n}` }, slow).then(
        () => 'checked',
        (error: unknown) => (error instanceof Failure ? error.kind : 'broken'),
      ),
    );
    // Those who are refused are told so at once, before any of the others has been checked.
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

  test('a lock ends after its time, trying does not make it longer, and counting begins anew', async () => {
    const { app, clock } = await openTestApp(await open());
    for (let n = 0; n < 5; n++) await attemptLogIn(app, name, wrong);
    clock.now += 899;
    assert.equal(await attemptLogIn(app, name, right), undefined);
    clock.now += 1;
    assert.equal(await attemptLogIn(app, name, wrong), undefined);
    assert.equal((await attemptLogIn(app, name, right))?.found, 'ann');
  });

  test('failures are forgotten when none came for long', async () => {
    const { app, clock } = await openTestApp(await open());
    for (let n = 0; n < 4; n++) await attemptLogIn(app, name, wrong);
    clock.now += 900;
    await attemptLogIn(app, name, wrong);
    assert.equal((await attemptLogIn(app, name, right))?.found, 'ann');
  });

  test('of many guesses at once no more are looked at than may fail', async () => {
    const { app } = await openTestApp(await open());
    let checks = 0;
    const guess = async () => {
      checks += 1;
      return undefined;
    };
    await Promise.all(Array.from({ length: 40 }, () => attemptLogIn(app, name, guess)));
    assert.equal(checks, 5);
  });

  test('of many who are right at once none is refused', async () => {
    const { app } = await openTestApp(await open());
    const all = await Promise.all(Array.from({ length: 40 }, () => attemptLogIn(app, name, right)));
    assert.equal(all.filter((one) => one?.found === 'ann').length, 40);
  });

  test('with the lockout disabled nothing is counted', async () => {
    const { app } = await openTestApp(await open());
    const user_lockout = { ...app.config.user_lockout, disable_lockout: true };
    const free = { ...app, config: { ...app.config, user_lockout } };
    for (let n = 0; n < 9; n++) await attemptLogIn(free, name, wrong);
    assert.equal((await attemptLogIn(free, name, right))?.found, 'ann');
    assert.equal((await attemptLogIn(app, name, right))?.found, 'ann');
  });

  test('rows that count no more are tidied away', async () => {
    const { app, clock } = await openTestApp(await open());
    await attemptLogIn(app, name, wrong);
    const rows = () => app.db.selectFrom('login_failure').selectAll().execute();
    for (const job of lockoutJobs) await runIfFree(app, job);
    assert.equal((await rows()).length, 1);
    clock.now += 901;
    for (const job of lockoutJobs) await runIfFree(app, job);
    assert.equal((await rows()).length, 0);
  });
});
