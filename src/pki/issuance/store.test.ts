import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { openTestApp, testCaller, testMount } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { makeCsr } from '../../../test/support/leaves.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure } from '../../core/failure.ts';
import { deleteMount, insertMount } from '../../mounts/store.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import type { Store } from '../../store/store.ts';
import { refuseForRoom } from '../../store/waiting-sets.ts';
import { type Effect, writesOf } from '../../store/write.ts';
import { writeIssuersConfig, writeKeysConfig, writeUrls } from '../config/operations.ts';
import { signIntermediate } from '../intermediates/operations.ts';
import { removeIssuer, updateIssuer } from '../issuers/operations.ts';
import { revokeIssuer } from '../issuers/revocation.operations.ts';
import { generateStoredKey, removeKey, updateKey } from '../keys/operations.ts';
import { deleteKey } from '../mount-state/keys.store.ts';
import { intermediateFields } from '../profile/intermediate.ts';
import { issueSchema } from '../profile/request.ts';
import { rootFields } from '../profile/root.ts';
import { writeRole } from '../roles/operations.ts';
import { roleFields } from '../roles/role.ts';
import { generateRoot } from '../roots/operations.ts';
import { readIssuerContext, readVerbatimContext } from './context.operations.ts';
import { takeBackNames, writeNames } from './names.operations.ts';
import { issueCertificate, planIssuance } from './operations.ts';

const rootSchema = z.object({ exported: z.string(), ...rootFields });
const intermediateSchema = z.object(intermediateFields);
const roleSchema = z.object({ name: z.string(), ...roleFields });

interface Made {
  app: App;
  caller: Caller;
  /** Of the issuer by which is issued. */
  key_id: string;
}

const makeRoot = (app: App, caller: Caller, issuer_name: string, key_name: string) =>
  generateRoot(
    app,
    caller,
    rootSchema.parse({
      exported: 'internal',
      common_name: issuer_name,
      key_type: 'ec',
      ttl: '700h',
      issuer_name,
      key_name,
    }),
  );

const makeRole = (app: App, caller: Caller, name: string, fields: object = {}) =>
  writeRole(
    app,
    caller,
    roleSchema.parse({ name, key_type: 'ec', allow_any_name: true, ttl: '1h', ...fields }),
  );

/** A mount whose role `web` issues by `used`, the default, and that has an issuer `other` and a key `spare` as well. */
async function make(store: Store): Promise<Made> {
  const { app } = await openTestApp(store);
  const mount = testMount({ kind: 'secret', path: 'pki/', type: 'pki' });
  const caller = testCaller(mount);
  await store.commit([insertMount(mount), bumpConfigVersion()]);
  const { data } = await makeRoot(app, caller, 'used', 'used');
  await makeRoot(app, caller, 'other', 'other');
  await makeKey(app, caller, 'spare');
  await makeRole(app, caller, 'web');
  return { app, caller, key_id: data.key_id };
}

const makeKey = (app: App, caller: Caller, key_name: string) =>
  generateStoredKey(app, caller, { exported: 'internal', key_name, key_type: 'ec', key_bits: 0 });

const request = { ...issueSchema.parse({ common_name: 'a.example' }), role: 'web' };

type Change = (made: Made) => Promise<unknown>;

const SPARING: [what: string, change: Change][] = [
  [
    'another key is renamed',
    ({ app, caller }) => updateKey(app, caller, { key_ref: 'spare', key_name: 'x' }),
  ],
  [
    'its own key is renamed',
    ({ app, caller }) => updateKey(app, caller, { key_ref: 'used', key_name: 'x' }),
  ],
  ['a key is made', ({ app, caller }) => makeKey(app, caller, 'new')],
  ['another key is removed', ({ app, caller }) => removeKey(app, caller, { key_ref: 'spare' })],
  [
    'another key is the default',
    ({ app, caller }) => writeKeysConfig(app, caller, { default: 'spare' }),
  ],
  [
    'another issuer is renamed',
    ({ app, caller }) => updateIssuer(app, caller, { issuer_ref: 'other', issuer_name: 'x' }),
  ],
  [
    'another issuer is removed',
    ({ app, caller }) => removeIssuer(app, caller, { issuer_ref: 'other' }),
  ],
  ['a root is made', ({ app, caller }) => makeRoot(app, caller, 'new', 'new')],
  [
    'the default issuer is chosen once more',
    ({ app, caller }) => writeIssuersConfig(app, caller, { default: 'used' }),
  ],
  [
    'another issuer is revoked',
    ({ app, caller }) => revokeIssuer(app, caller, { issuer_ref: 'other' }),
  ],
  ['another role is changed', ({ app, caller }) => makeRole(app, caller, 'mail')],
];

const REFUSING: [what: string, change: Change][] = [
  [
    'its issuer is renamed',
    ({ app, caller }) => updateIssuer(app, caller, { issuer_ref: 'used', issuer_name: 'x' }),
  ],
  [
    'its issuer may not issue any more',
    ({ app, caller }) => updateIssuer(app, caller, { issuer_ref: 'used', usage: ['read-only'] }),
  ],
  ['its issuer is revoked', ({ app, caller }) => revokeIssuer(app, caller, { issuer_ref: 'used' })],
  ['its issuer is removed', ({ app, caller }) => removeIssuer(app, caller, { issuer_ref: 'used' })],
  [
    'its key is gone',
    ({ app, caller, key_id }) => app.store.commit([deleteKey(caller.mount.id, key_id)]),
  ],
  [
    'another issuer is the default',
    ({ app, caller }) => writeIssuersConfig(app, caller, { default: 'other' }),
  ],
  [
    'the URLs of the mount are others',
    ({ app, caller }) => writeUrls(app, caller, { ocsp_servers: ['http://o.test'] }),
  ],
];

/** What only those rest on that a role was asked for. */
const ROLE_CHANGED: [what: string, change: Change] = [
  'its role is changed',
  ({ app, caller }) => makeRole(app, caller, 'web', { ttl: '2h' }),
];

eachEngine('a certificate that is being made', (open) => {
  for (const [what, change] of SPARING) {
    test(`stands when ${what} meanwhile`, async () => {
      const made = await make(await open());
      const { effects } = await planIssuance(made.app, made.caller, request);
      await change(made);
      await made.app.store.commit(effects);
    });
  }

  for (const [what, change] of [...SPARING, ROLE_CHANGED]) {
    test(`stands without a role when ${what} meanwhile`, async () => {
      const made = await make(await open());
      const { held } = await readVerbatimContext(made.app, made.caller, {});
      await change(made);
      await made.app.store.commit([held]);
    });
  }

  for (const [what, change] of REFUSING) {
    test(`is refused without a role when ${what} meanwhile`, async () => {
      const made = await make(await open());
      const { held } = await readVerbatimContext(made.app, made.caller, {});
      await change(made);
      await assert.rejects(made.app.store.commit([held]), {
        kind: 'conflict',
        message: /what the certificate rests on was changed meanwhile/,
      });
    });
  }

  for (const [what, change] of [...REFUSING, ROLE_CHANGED]) {
    test(`is refused when ${what} meanwhile`, async () => {
      const made = await make(await open());
      const { effects } = await planIssuance(made.app, made.caller, request);
      await change(made);
      await assert.rejects(made.app.store.commit(effects), {
        kind: 'conflict',
        message: /what the certificate rests on was changed meanwhile/,
      });
    });
  }

  test('is made although its own issuer changes again and again, and changes of the mount refuse none of each other', async () => {
    const { app, caller } = await make(await open());
    let isOver = false;
    const changeOn = async (change: (at: number) => Promise<unknown>): Promise<void> => {
      for (let at = 0; !isOver; at++) await change(at);
    };
    const behaviors = ['truncate', 'permit'] as const;
    const changing = ['used', 'other'].map((issuer_ref) =>
      changeOn((at) =>
        updateIssuer(app, caller, { issuer_ref, leaf_not_after_behavior: behaviors[at % 2] }),
      ),
    );
    try {
      for (let at = 0; at < 15; at++) await issueCertificate(app, caller, request);
      await Promise.all([...'abcdefgh'].map((name) => makeKey(app, caller, name)));
    } finally {
      isOver = true;
    }
    await Promise.all(changing);
  });
});

eachEngine('a certificate of an authority that is being made', (open) => {
  for (const [what, change] of [...SPARING, ROLE_CHANGED]) {
    test(`stands when ${what} meanwhile`, async () => {
      const made = await make(await open());
      const { held } = await readIssuerContext(made.app, made.caller, 'default');
      await change(made);
      await made.app.store.commit([held]);
    });
  }

  for (const [what, change] of REFUSING) {
    test(`is refused when ${what} meanwhile`, async () => {
      const made = await make(await open());
      const { held } = await readIssuerContext(made.app, made.caller, 'default');
      await change(made);
      await assert.rejects(made.app.store.commit([held]), {
        kind: 'conflict',
        message: /what the certificate rests on was changed meanwhile/,
      });
    });
  }

  test('is decided on anew by what its issuer is by then', async () => {
    const { app, caller } = await make(await open());
    let changes = 0;
    const late: App = {
      ...app,
      commit: async (...commit) => {
        if (changes++ === 0) {
          const ocsp_servers = ['http://late.test'];
          await updateIssuer(app, caller, { issuer_ref: 'used', ocsp_servers });
        }
        return app.commit(...commit);
      },
    };
    const csr = makeCsr({});
    const input = intermediateSchema.parse({ csr, common_name: 'Sub', format: 'der' });
    const { data } = await signIntermediate(late, caller, input);
    assert.equal(changes, 2);
    assert.ok(Buffer.from(data.certificate, 'base64').includes('http://late.test'));
    const [stored, ...more] = await app.store.db
      .selectFrom('pki_certificate')
      .select('serial')
      .where('subject_cn', '=', 'Sub')
      .execute();
    assert.deepEqual([stored?.serial, more], [data.serial_number, []]);
  });
});

const countNames = async (store: Store): Promise<number> => {
  const rows = await store.db.selectFrom('pki_certificate_name').select('reversed').execute();
  return rows.length;
};

/** An app whose write sets are looked at: how many names the one with the most has. */
function watchSets(app: App): { watched: App; most(): number } {
  let most = 0;
  const look = (effects: readonly Effect[]): void => {
    const names = writesOf(effects).filter(({ sql }) => sql.includes('pki_certificate_name'));
    most = Math.max(
      most,
      names.reduce((sum, { parameters }) => sum + parameters.length / 3, 0),
    );
  };
  const watched: App = {
    ...app,
    commit: (caller, effects) => {
      look(effects);
      return app.commit(caller, effects);
    },
    store: new Proxy(app.store, {
      get: (store, key) =>
        key === 'commit'
          ? (effects: readonly Effect[]) => {
              look(effects);
              return store.commit(effects);
            }
          : Reflect.get(store, key, store),
    }),
  };
  return { watched, most: () => most };
}

eachEngine('a certificate with many names', (open) => {
  const many = Array.from({ length: 450 }, (_, at) => `n${at}.example`);
  const long = {
    ...request,
    ...issueSchema.parse({ common_name: 'a.example', alt_names: many.join() }),
  };

  test('has all of them kept, by write sets that none of is long', async () => {
    const { app, caller } = await make(await open());
    const { watched, most } = watchSets(app);
    const before = await countNames(app.store);
    await issueCertificate(watched, caller, long);
    assert.equal(await countNames(app.store), before + many.length + 1);
    assert.ok(most() <= 101, `${most()}`);
  });

  test('leaves none of them where there is no room for its own write set', async () => {
    const { app, caller } = await make(await open());
    const before = await countNames(app.store);
    const full: App = { ...app, commit: () => Promise.reject(refuseForRoom()) };
    await assert.rejects(issueCertificate(full, caller, long), { kind: 'unavailable' });
    assert.equal(await countNames(app.store), before);
  });

  test('keeps them whoever takes names back once it is there', async () => {
    const { app, caller } = await make(await open());
    const before = await countNames(app.store);
    const { names, effects } = await planIssuance(app, caller, long);
    await writeNames(app, names);
    await app.store.commit(effects);
    await takeBackNames(app, names);
    assert.equal(await countNames(app.store), before + many.length + 1);
  });

  test('that is refused leaves none of them, and one whose mount is gone either', async () => {
    const { app, caller } = await make(await open());
    const before = await countNames(app.store);
    const refusing: App = {
      ...app,
      commit: () => Promise.reject(new Failure('forbidden', 'permission denied')),
    };
    await assert.rejects(issueCertificate(refusing, caller, long), { kind: 'forbidden' });
    assert.equal(await countNames(app.store), before);
    const { names } = await planIssuance(app, caller, long);
    await app.store.commit([deleteMount(caller.mount)]);
    await assert.rejects(writeNames(app, names), { kind: 'conflict' });
    assert.equal(await countNames(app.store), before);
  });
});
