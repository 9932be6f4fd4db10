import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eachPlace } from '../../../test/support/engines.ts';
import { Failure } from '../../core/failure.ts';
import { findHolder } from '../../store/job-lock.ts';
import { joinStore, type Store } from '../../store/store.ts';
import { goFirst, letFirst, type WriteContext } from './precedence.operations.ts';

let ids = 0;
const contextOf = (store: Store): WriteContext => ({
  store,
  now: () => 1_800_000_000_000,
  newId: () => `request-${++ids}`,
});

/** The other nodes need not know at once. */
async function toldOf({ db }: Store): Promise<void> {
  while (!(await findHolder(db, 'permissions/first'))?.expires_at_ms) await letTurn();
}

const letTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Whoever does not wait is through by then. */
async function letOthersRead({ db }: Store): Promise<void> {
  for (let reads = 0; reads < 20; reads++) await findHolder(db, 'none');
}

eachPlace('a request that goes first', (newPlace, engine) => {
  const joined: Store[] = [];
  after(async () => {
    for (const store of joined) await store.close();
  });
  /** Two nodes, or threads of one where there can be no other. */
  const openBoth = async (): Promise<[Store, Store]> => {
    const place = await newPlace();
    const a = await place.open('a');
    return [a, engine === 'sqlite' ? join(a) : await place.open('b')];
  };
  const join = (store: Store): Store => {
    const one = joinStore(store.share(), {
      confirmConfig: async () => store.configVersion(),
      refreshConfig: () => store.refreshConfig(),
    });
    joined.push(one);
    return one;
  };

  test('is waited for by changes of permissions on each node, and by none after it', async () => {
    const [a, b] = await openBoth();
    await letFirst(b);
    const told: string[] = [];
    const changes: Promise<unknown>[] = [];
    const change = (store: Store) => letFirst(store).then(() => told.push('a change'));
    // What is begun in a request belongs to it: others come from outside.
    const going = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const request = goFirst(contextOf(a), false, async () => {
      if (a !== b) await toldOf(b);
      going.resolve();
      await gate.promise;
      await letFirst(a);
      told.push('the request');
    });
    await going.promise;
    changes.push(change(a), change(b));
    await letOthersRead(b);
    assert.deepEqual(told, []);
    gate.resolve();
    await Promise.all([request, ...changes]);
    assert.deepEqual(told, ['the request', 'a change', 'a change']);
    await letFirst(b);
  });

  test('that changes permissions goes one at a time, whichever node it came to', async () => {
    const [a, b] = await openBoth();
    let going = 0;
    const go = (store: Store): Promise<number> =>
      goFirst(contextOf(store), true, async () => {
        going += 1;
        await letOthersRead(store);
        return going--;
      });
    assert.deepEqual(await Promise.all([a, b, a, b].map(go)), [1, 1, 1, 1]);
  });

  test('goes with all others that do not change permissions', async () => {
    const [a] = await openBoth();
    const all = Promise.withResolvers<void>();
    let going = 0;
    const go = (): Promise<void> =>
      goFirst(contextOf(a), false, async () => {
        going += 1;
        if (going === 20) all.resolve();
        await all.promise;
      });
    await Promise.all(Array.from({ length: 20 }, go));
  });

  test('does not wait for itself', async () => {
    const [a] = await openBoth();
    for (const changes of [false, true]) {
      const again = () => goFirst(contextOf(a), changes, async () => 7);
      assert.equal(await goFirst(contextOf(a), changes, again), 7);
    }
  });

  test('is refused as it is refused, and is over then', async () => {
    const [a, b] = await openBoth();
    const refused = goFirst(contextOf(a), true, async () =>
      Promise.reject(new Failure('forbidden', 'no')),
    );
    await assert.rejects(refused, { kind: 'forbidden' });
    await letFirst(b);
  });

  if (engine === 'sqlite') return;

  test('of a node that has stopped without a word is not waited for for ever', async () => {
    const [a, b] = await openBoth();
    let commits = 0;
    const stopping: Store = {
      ...a,
      commit: (effects) =>
        ++commits === 1 ? a.commit(effects) : Promise.reject(new Failure('unavailable', 'gone')),
    };
    assert.equal(await goFirst(contextOf(stopping), true, async () => 'done'), 'done');
    await letTurn();
    assert.equal(commits, 2);
    await letFirst(b);
    assert.equal(await goFirst(contextOf(b), true, async () => 'done too'), 'done too');
  });
});
