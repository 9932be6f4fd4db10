import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { openTestApp, testCaller, testMount } from '../../../../test/support/app.ts';
import { eachEngine } from '../../../../test/support/engines.ts';
import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import { insertMount } from '../../../mounts/store.ts';
import { bumpConfigVersion } from '../../../store/config-version.ts';
import type { Store } from '../../../store/store.ts';
import { deleteCelRole, saveCelRole } from '../../cel/store.ts';
import { writeUrls } from '../../config/operations.ts';
import { updateIssuer } from '../../issuers/operations.ts';
import { revokeIssuer } from '../../issuers/revocation.operations.ts';
import { rootFields } from '../../profile/root.ts';
import { generateRoot } from '../../roots/operations.ts';
import { readCelContext } from '../context.operations.ts';

interface Made {
  app: App;
  caller: Caller;
}

async function make(store: Store): Promise<Made> {
  const { app } = await openTestApp(store);
  const mount = testMount({ kind: 'secret', path: 'pki/', type: 'pki' });
  const caller = testCaller(mount);
  await store.commit([insertMount(mount), bumpConfigVersion()]);
  const schema = z.object({ exported: z.string(), ...rootFields });
  for (const issuer_name of ['used', 'other']) {
    const root = { exported: 'internal', common_name: issuer_name, key_type: 'ec', issuer_name };
    await generateRoot(app, caller, schema.parse(root));
  }
  await app.store.commit([save(caller, 'web', undefined, 't1')]);
  return { app, caller };
}

function save({ mount }: Caller, name: string, before: string | undefined, body_tag: string) {
  const at = (tag: string) => ({ program: { variables: [], expression: tag }, body_tag: tag });
  const read = before === undefined ? undefined : at(before);
  return saveCelRole({ mount_id: mount.id, name }, { read, next: at(body_tag) });
}

type Change = (made: Made) => Promise<unknown>;

const SPARING: [what: string, change: Change][] = [
  [
    'another program is written',
    ({ app, caller }) => app.store.commit([save(caller, 'other', undefined, 't3')]),
  ],
  [
    'another issuer is revoked',
    ({ app, caller }) => revokeIssuer(app, caller, { issuer_ref: 'other' }),
  ],
];

const REFUSING: [what: string, change: Change][] = [
  [
    'its program is changed',
    ({ app, caller }) => app.store.commit([save(caller, 'web', 't1', 't2')]),
  ],
  [
    'its program is gone',
    ({ app, caller }) => app.store.commit([deleteCelRole(caller.mount.id, 'web')]),
  ],
  ['its issuer is revoked', ({ app, caller }) => revokeIssuer(app, caller, { issuer_ref: 'used' })],
  [
    'its issuer may not issue any more',
    ({ app, caller }) => updateIssuer(app, caller, { issuer_ref: 'used', usage: ['read-only'] }),
  ],
  [
    'the URLs of the mount are others',
    ({ app, caller }) => writeUrls(app, caller, { ocsp_servers: ['http://o.test'] }),
  ],
];

eachEngine('a certificate that a program has described', (open) => {
  const hold = async ({ app, caller }: Made) => {
    const basis = { role: 'web', role_tag: 't1', issuer_ref: 'used' };
    return (await readCelContext(app, caller, basis)).held;
  };

  for (const [what, change] of SPARING) {
    test(`stands when ${what} meanwhile`, async () => {
      const made = await make(await open());
      const held = await hold(made);
      await change(made);
      await made.app.store.commit([held]);
    });
  }

  for (const [what, change] of REFUSING) {
    test(`is refused when ${what} meanwhile`, async () => {
      const made = await make(await open());
      const held = await hold(made);
      await change(made);
      await assert.rejects(made.app.store.commit([held]), {
        kind: 'conflict',
        message: /what the certificate rests on was changed meanwhile/,
      });
    });
  }
});
