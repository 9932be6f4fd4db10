import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  enableTestMount,
  openTestApp,
  requireTestMount,
  testCaller,
} from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import type { App } from '../../app/app.ts';
import { isConflict } from '../../core/failure.ts';
import { EMPTY_CONFIG } from '../../mounts/rules.ts';
import { holdPlace, insertMount } from '../../mounts/store.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { readMount } from './listing.operations.ts';
import { tuneMount } from './operations.ts';

const MANY = 24;

const enable = (app: App, path: string): Promise<void> =>
  enableTestMount(app, { kind: 'secret', path, type: 'pki' });

const eachOf = <T>(of: (at: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: MANY }, (_, at) => of(at)));

eachEngine('mounts that many change at once', (open) => {
  test('are made side by side, and nobody is refused for the others', async () => {
    const { app } = await openTestApp(await open());
    await eachOf((at) => enable(app, `team/p${at}`));
    const last = await readMount(app, { kind: 'secret', path: `team/p${MANY - 1}` });
    assert.ok(last);
  });

  test('keep what each of many tunes has said', async () => {
    const { app } = await openTestApp(await open());
    await enable(app, 'p');
    const caller = async () => testCaller(await requireTestMount(app, 'sys/'));
    await eachOf(async (at) => {
      const options = { [`from${at}`]: 'here' };
      return tuneMount(app, await caller(), { kind: 'secret', path: 'p', options, config: {} });
    });
    const { data } = await readMount(app, { kind: 'secret', path: 'p' });
    assert.ok(data && typeof data === 'object' && 'options' in data);
    assert.equal(Object.keys(data.options ?? {}).length, MANY);
  });
});

const places: [name: string, there: string, path: string, isAlone: boolean][] = [
  ['inside another one', 'a/', 'a/b/', false],
  ['far inside another one', 'a/', 'a/b/c/d/', false],
  ['around another one', 'a/b/', 'a/', false],
  ['far around another one', 'a/b/c/d/', 'a/b/', false],
  ['beside one whose name begins like it', 'ab/', 'a/', true],
  ['beside one whose name goes on after a full stop', 'a.b/', 'a/', true],
  ['beside one whose name goes on with the character after the slash', 'a0/', 'a/', true],
  ['beside one in the same folder', 'a/b/', 'a/c/', true],
  ['beside one in other letters', 'A/', 'a/', true],
];

eachEngine('the place of a mount', (open) => {
  for (const [name, there, path, isAlone] of places) {
    // A way to log in is no neighbour of the engine at the same path.
    for (const kind of there === 'a/' ? (['secret', 'auth'] as const) : (['secret'] as const)) {
      const isTaken = !isAlone && kind === 'secret';
      test(`${path} as ${kind}, ${name}: ${isTaken ? 'refused' : 'taken'}`, async () => {
        const store = await open();
        const made = (id: string, of: 'secret' | 'auth', at: string) => ({
          ...{ id, kind: of, path: at, type: 'pki', accessor: id, description: '' },
          ...{ local: false, seal_wrap: false, external_entropy_access: false, options: null },
          config: EMPTY_CONFIG,
        });
        await store.commit([insertMount(made('one', 'secret', there))]);
        const other = made('other', kind, path);
        const writing = store.commit([insertMount(other), bumpConfigVersion(), holdPlace(other)]);
        if (!isTaken) return writing;
        await assert.rejects(writing, (error) => isConflict(error));
      });
    }
  }
});
