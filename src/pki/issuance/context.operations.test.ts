import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, testCaller, testMount } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import type { Mount } from '../../app/mount.ts';
import type { Standing } from '../../app/standing.ts';
import { Failure } from '../../core/failure.ts';
import { insertMount } from '../../mounts/store.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { readMountOf } from './context.operations.ts';

const mount = testMount({ kind: 'secret', path: 'pki/', type: 'pki' });
const gone = new Failure('not_found', 'no handler for route "pki/issue/web"');

/** What a permission rests on whose path does not lead to the mount any more. */
const standing: Standing = {
  token_id: undefined,
  version: undefined,
  guards: () => [],
  renew: () => Promise.reject(gone),
};

eachEngine('the mount of what is to be certified', (open) => {
  for (const [what, there, may] of [
    ['as the request found it', mount, true],
    ['tuned since then', { ...mount, config: { ...mount.config, max_lease_ttl: 7 } }, true],
    ['moved since then', { ...mount, path: 'moved/' }, false],
    ['removed since then, and made anew', { ...mount, id: 'another' }, false],
    ['removed since then', undefined, false],
  ] as [what: string, there: Mount | undefined, may: boolean][]) {
    test(`${what} is ${may ? 'read as it is' : 'refused as one that was never there'}`, async () => {
      const store = await open();
      const { app } = await openTestApp(store);
      await store.commit([...(there ? [insertMount(there)] : []), bumpConfigVersion()]);
      await app.store.refreshConfig();
      const reading = readMountOf(app, { ...testCaller(mount), standing });
      if (may) assert.deepEqual((await reading).config, there?.config);
      else await assert.rejects(reading, gone);
    });
  }
});
