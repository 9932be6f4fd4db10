import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, requireTestMount, testCaller } from '../../../test/support/app.ts';
import { countCommitting } from '../../../test/support/committing.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { Standing } from '../../app/standing.ts';
import { Failure, isConflict } from '../../core/failure.ts';
import { doFor } from '../../core/fairness/asking.ts';
import { deleteAsRead, saveAsRead } from '../../store/as-read.ts';
import type { Store } from '../../store/store.ts';
import type { Write } from '../../store/write.ts';
import { commitPlanned, type Planned } from './attempts.operations.ts';

const key = { name: 'web' };

async function bodyIn({ db }: App): Promise<string | undefined> {
  const row = await db.selectFrom('token_role').select('body').where('name', '=', key.name);
  return (await row.executeTakeFirst())?.body;
}

const save = (read: string | undefined, body: string): Write =>
  saveAsRead('token_role', {
    key,
    read: read === undefined ? read : { body: read },
    next: { body },
  });

/** Adds a letter to the row, as somebody who was slower than `others`. */
async function append(
  app: App,
  caller: Caller,
  others: (attempt: number) => readonly Write[],
): Promise<{ attempts: number; result: string }> {
  let attempts = 0;
  const result = await commitPlanned<string>(app, caller, async () => {
    const read = await bodyIn(app);
    attempts += 1;
    const theirs = others(attempts);
    if (theirs.length > 0) await app.store.commit(theirs);
    const body = `${read ?? ''}+`;
    return { effects: [save(read, body)], result: body, found: read !== undefined };
  });
  return { attempts, result };
}

async function openBench(open: () => Promise<Store>): Promise<{ app: App; caller: Caller }> {
  const { app } = await openTestApp(await open());
  return { app, caller: testCaller(await requireTestMount(app, 'auth/token/')) };
}

eachEngine('a request that merges what it has read with what it was sent', (open) => {
  test('is planned once when nobody was quicker', async () => {
    const { app, caller } = await openBench(open);
    assert.deepEqual(await append(app, caller, () => []), { attempts: 1, result: '+' });
    assert.equal(await bodyIn(app), '+');
  });

  test('is planned anew on what others have left', async () => {
    const { app, caller } = await openBench(open);
    await app.store.commit([save(undefined, 'a')]);
    const done = await append(app, caller, (attempt) => (attempt === 1 ? [save('a', 'b')] : []));
    assert.deepEqual(done, { attempts: 2, result: 'b+' });
    assert.equal(await bodyIn(app), 'b+');
  });

  test('has in its record what the last plan says, and nothing of the one before', async () => {
    const { app, caller } = await openBench(open);
    caller.record.outcome = { token: 'noted before' };
    await app.store.commit([save(undefined, 'a')]);
    let attempts = 0;
    await commitPlanned(app, caller, async () => {
      const read = await bodyIn(app);
      attempts += 1;
      if (attempts > 1) {
        return { effects: [save(read, 'mine')], result: null, outcome: { moved: 'mine' } };
      }
      // As an operation may note by itself.
      caller.record.outcome.lease_id = 'of the first plan';
      await app.store.commit([save('a', 'theirs')]);
      const outcome = { moved: 'a', taken_from_entity_id: 'theirs' };
      return { effects: [save(read, 'lost')], result: null, outcome };
    });
    assert.equal(attempts, 2);
    assert.deepEqual(caller.record.outcome, { token: 'noted before', moved: 'mine' });
  });

  test('does not make anew what others have removed', async () => {
    const { app, caller } = await openBench(open);
    await app.store.commit([save(undefined, 'a')]);
    const remove = deleteAsRead('token_role', { key, read: { body: 'a' } });
    const done = append(app, caller, (attempt) => (attempt === 1 ? [remove] : []));
    await assert.rejects(done, /removed by somebody else in the meantime/);
    assert.equal(await bodyIn(app), undefined);
  });

  test('gives up at last when somebody is always quicker, and has written nothing', async () => {
    const { app, caller } = await openBench(open);
    await app.store.commit([save(undefined, '0')]);
    let attempts = 0;
    const quicker = (attempt: number): Write[] => {
      attempts = attempt;
      return [save(String(attempt - 1), String(attempt))];
    };
    await assert.rejects(append(app, caller, quicker), isConflict);
    assert.ok(attempts > 1 && attempts < 20, `${attempts} attempts`);
    assert.equal(await bodyIn(app), String(attempts));
  });

  test('of many at once is refused to nobody, and nothing of it is lost', async () => {
    const { app, caller } = await openBench(open);
    const many = Array.from({ length: 40 }, () => append(app, { ...caller }, () => []));
    const attempts = (await Promise.all(many)).map((done) => done.attempts);
    assert.equal(await bodyIn(app), '+'.repeat(40));
    assert.ok(Math.max(...attempts) <= 4, `${attempts}`);
  });

  test('has those who change the same wait once it does, and nobody who only goes by it', async () => {
    const { app, caller } = await openBench(open);
    const [isInLine, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const line = { key: 'a role', changes: true };
    let attempts = 0;
    const late = commitPlanned(
      app,
      caller,
      async () => {
        attempts += 1;
        if (attempts === 1) return { effects: [save('never read', 'a')], result: null };
        isInLine.resolve();
        await goOn.promise;
        return { effects: [save(undefined, 'a')], result: null };
      },
      line,
    );
    await isInLine.promise;
    const plan = async (): Promise<Planned<null>> => ({ effects: [], result: null });
    let isDone = false;
    const change = commitPlanned(app, caller, plan, line).then(() => {
      isDone = true;
    });
    await commitPlanned(app, caller, plan, { key: 'a role', changes: false });
    await commitPlanned(app, caller, plan);
    assert.equal(isDone, false, 'waited');
    goOn.resolve();
    await Promise.all([late, change]);
  });

  test('is refused by the error of its new plan', async () => {
    const { app, caller } = await openBench(open);
    const plan = async (): Promise<Planned<null>> => {
      if ((await bodyIn(app)) !== undefined) throw new Failure('invalid', 'the name is in use');
      await app.store.commit([save(undefined, 'theirs')]);
      return { effects: [save(undefined, 'mine')], result: null };
    };
    await assert.rejects(commitPlanned(app, caller, plan), /the name is in use/);
    assert.equal(await bodyIn(app), 'theirs');
  });
});

eachEngine('requests that come too late for changes of permissions', (open) => {
  test('do not wait for each other, whatever path they have in common', async () => {
    const { app, caller } = await openBench(open);
    const MANY = 10;
    let again = 0;
    const all = Promise.withResolvers<void>();
    const standing = (version: number): Standing => ({
      version,
      token_id: undefined,
      guards: () =>
        version === 1 ? [deleteAsRead('token_role', { key, read: { body: '' } })] : [],
      renew: async () => standing(version + 1),
    });
    const plan = async (mine: Caller): Promise<Planned<null>> => {
      if (mine.standing?.version !== 1) {
        again += 1;
        if (again === MANY) all.resolve();
        await all.promise;
      }
      return { effects: [], result: null };
    };
    const requests = Array.from({ length: MANY }, () => {
      const mine = { ...caller, standing: standing(1) };
      return commitPlanned(app, mine, () => plan(mine));
    });
    await Promise.all(requests);
  });
});

/** A caller who was permitted by what was there, and is judged again by what is there then. */
function judgedBy(caller: Caller, found: boolean, app: App, may: 'make' | 'both'): Caller {
  const standing: Standing = {
    version: undefined,
    token_id: undefined,
    guards: () => [],
    renew: async () => {
      caller.found = (await bodyIn(app)) !== undefined;
      if (caller.found && may === 'make') throw new Failure('forbidden', 'permission denied');
      return standing;
    },
  };
  caller.found = found;
  caller.standing = standing;
  return caller;
}

eachEngine('what has come or gone since the request was permitted', (open) => {
  for (const moment of ['read', 'written'] as const) {
    for (const may of ['both', 'make'] as const) {
      const denied = may === 'make';
      test(`is ${denied ? 'not ' : ''}changed by who may ${denied ? 'only make' : 'change'} it, made before it was ${moment}`, async () => {
        const bench = await openBench(open);
        const { app } = bench;
        const caller = judgedBy(bench.caller, false, app, may);
        const made = [save(undefined, 'a')];
        if (moment === 'read') await app.store.commit(made);
        const late = moment === 'written' ? made : [];
        const done = append(app, caller, (attempt) => (attempt === 1 ? late : []));
        if (denied) await assert.rejects(done, /permission denied/);
        else assert.equal((await done).result, 'a+');
        assert.equal(await bodyIn(app), denied ? 'a' : 'a+');
      });
    }
  }

  for (const may of ['both', 'make'] as const) {
    test(`ends ${may === 'make' ? 'nothing' : 'what it ends'} beforehand for who may ${may}`, async () => {
      const bench = await openBench(open);
      const { app } = bench;
      const caller = judgedBy(bench.caller, false, app, may);
      await app.store.commit([save(undefined, 'a')]);
      const ended: string[] = [];
      const done = commitPlanned(app, caller, async () => ({
        effects: [save('a', 'b')],
        result: null,
        found: true,
        beforehand: {
          of: 'a thing',
          end: async () => {
            ended.push(`of ${await bodyIn(app)}`);
          },
        },
      }));
      if (may === 'make') await assert.rejects(done, /permission denied/);
      else await done;
      assert.deepEqual(ended, may === 'make' ? [] : ['of a']);
    });
  }

  for (const [ends, networks, most] of [
    [true, 1, 3],
    [true, 12, 4],
    [false, 1, 12],
  ] as const) {
    const who = networks === 1 ? 'one network' : 'many networks';
    test(`${most} of 12 that ${ends ? 'end something' : 'end nothing'} are written at once, of ${who}`, async () => {
      const { app, caller } = await openBench(open);
      const { counting, most: counted } = countCommitting(app);
      const change = async (at: number): Promise<void> => {
        const record = { ...caller.record, path: `thing-${at}` };
        const address = `192.0.${networks === 1 ? 2 : at}.1`;
        const beforehand = ends ? { of: record.path, end: async () => {} } : undefined;
        const plan = async () => ({ effects: [], result: null, beforehand });
        await doFor(address, () => commitPlanned(counting, { ...caller, record }, plan));
      };
      await Promise.all(Array.from({ length: 12 }, (_, at) => change(at)));
      assert.equal(counted(), most);
    });
  }

  test('is not made anew, removed before it was read', async () => {
    const bench = await openBench(open);
    const { app } = bench;
    const done = append(app, judgedBy(bench.caller, true, app, 'both'), () => []);
    await assert.rejects(done, /removed by somebody else in the meantime/);
    assert.equal(await bodyIn(app), undefined);
  });
});
