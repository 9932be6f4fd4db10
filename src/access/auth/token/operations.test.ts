import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, requireTestMount, testCaller } from '../../../../test/support/app.ts';
import { eachEngine } from '../../../../test/support/engines.ts';
import { PLAIN_REQUEST } from '../../../../test/support/token-request.ts';
import { judgeAccess } from '../../../acl/acl.ts';
import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import type { VaultResult } from '../../../app/result.ts';
import { Failure, isConflict } from '../../../core/failure.ts';
import type { Store } from '../../../store/store.ts';
import { authenticate, authenticateAgain } from '../../permissions/authentication.operations.ts';
import { removePolicy, writePolicy } from '../../policies/operations.ts';
import { planned } from '../../tokens/creation.ts';
import type { TokenRequest } from '../../tokens/creation-request.ts';
import { tidyTokens } from '../../tokens/expiration.operations.ts';
import { createRootToken, type MintedToken, mintToken } from '../../tokens/minting.operations.ts';
import { planRootToken } from '../../tokens/token.ts';
import { createToken, lookUpAccessor, lookUpSelf, lookUpToken } from './operations.ts';
import { renewSelf } from './renewal.operations.ts';
import {
  revokeByAccessor,
  revokeByText,
  revokeOrphan,
  revokeSelf,
} from './revocation.operations.ts';
import { writeTokenRole } from './roles.operations.ts';

async function openServer(open: () => Promise<Store>) {
  const { app, clock } = await openTestApp(await open());
  const mount = await requireTestMount(app, 'auth/token/');
  await createRootToken(app, testCaller(mount), { id: 'root' });
  const as = async (text: string): Promise<Caller> => {
    const known = await authenticate(app, text);
    assert.ok(known, 'the token can be used');
    return testCaller(mount, known);
  };
  const create = async (by: string, request: Partial<TokenRequest> = {}, role_name?: string) => {
    const answer = await createToken(app, await as(by), {
      request: { ...PLAIN_REQUEST, ...request },
      orphan: false,
      ...(role_name === undefined ? {} : { role_name }),
    });
    assert.ok(answer.auth);
    return { ...answer.auth, warnings: answer.warnings ?? [] };
  };
  return { app, clock, mount, as, create };
}

const isKnown = async (app: App, text: string): Promise<boolean> =>
  (await authenticate(app, text)) !== undefined;

async function createChosen(app: App, now: number): Promise<MintedToken> {
  const minted = mintToken(app, planRootToken(now), 'chosen');
  await app.store.commit(minted.effects);
  return minted;
}

const dataOf = (answer: VaultResult): Record<string, unknown> => ({ ...(answer.data as object) });

const refusal = (message: RegExp) => (error: unknown) =>
  error instanceof Failure && message.test(error.message);

eachEngine('tokens', (open) => {
  test('the root token is known by its text, and may do everything', async () => {
    const { app } = await openServer(open);
    const known = await authenticate(app, 'root');
    assert.deepEqual(known?.token.policies, ['root']);
    assert.equal(known?.acl.root, true);
    assert.equal(await authenticate(app, 'roof'), undefined);
  });

  test('no column holds the text of a token', async () => {
    const { app, create } = await openServer(open);
    const { client_token } = await create('root', { policies: ['reader'], ttl: 60 });
    const rows = await app.db.selectFrom('token').selectAll().execute();
    assert.equal(JSON.stringify(rows).includes(client_token), false);
    const records = await app.db.selectFrom('audit_entry').select('record').execute();
    assert.equal(JSON.stringify(records).includes(client_token), false);
  });

  test('a made token is answered with what it may do and how long it lives', async () => {
    const { create } = await openServer(open);
    const { warnings, client_token, accessor, ...auth } = await create('root', {
      policies: ['reader'],
      ttl: 3600,
      num_uses: 5,
      meta: { who: 'ci' },
      display_name: 'ci',
    });
    assert.match(client_token, /^hvs\.\w{24}$/);
    assert.match(accessor, /^\w{24}$/);
    assert.deepEqual(auth, {
      policies: ['default', 'reader'],
      token_policies: ['default', 'reader'],
      metadata: { who: 'ci' },
      lease_duration: 3600,
      renewable: true,
      entity_id: '',
      token_type: 'service',
      orphan: false,
      mfa_requirement: null,
      num_uses: 5,
    });
    assert.deepEqual(warnings, ['Policy "reader" does not exist']);
  });

  test('a token looks itself up by its text, and is looked up by accessor without it', async () => {
    const { app, as, create, clock } = await openServer(open);
    const made = await create('root', { policies: ['reader'], ttl: 3600, display_name: 'a b' });
    clock.now += 60;
    const own = dataOf(await lookUpSelf(app, await as(made.client_token)));
    assert.equal(own.id, made.client_token);
    assert.equal(own.ttl, 3540);
    assert.equal(own.creation_ttl, 3600);
    assert.equal(own.display_name, 'token-a-b');
    assert.equal(own.path, 'auth/token/create');
    const other = dataOf(await lookUpAccessor(app, await as('root'), made));
    assert.deepEqual({ ...other, id: own.id }, own);
    assert.equal(other.id, '');
  });

  test('looking up an unknown token is refused', async () => {
    const { app, as } = await openServer(open);
    await assert.rejects(lookUpToken(app, await as('root'), { token: 'x' }), refusal(/bad token/));
    await assert.rejects(
      lookUpAccessor(app, await as('root'), { accessor: 'x' }),
      refusal(/invalid accessor/),
    );
  });

  test('a token works until its last second and not at its end', async () => {
    const { app, create, clock } = await openServer(open);
    const { client_token } = await create('root', { policies: ['reader'], ttl: 60 });
    clock.now += 59;
    assert.equal(await isKnown(app, client_token), true);
    clock.now += 1;
    assert.equal(await isKnown(app, client_token), false);
  });

  test('a token with three uses works three times, also when all come at once', async () => {
    const { app, create } = await openServer(open);
    const { client_token } = await create('root', { policies: ['reader'], num_uses: 3 });
    const attempts = Array.from({ length: 8 }, () => isKnown(app, client_token));
    const granted = (await Promise.all(attempts)).filter(Boolean);
    assert.equal(granted.length, 3);
    assert.equal(await isKnown(app, client_token), false);
  });

  test('a counted token that is judged again within a request has the uses that it came with', async () => {
    const { app, create } = await openServer(open);
    const { client_token } = await create('root', { policies: ['reader'], num_uses: 2 });
    for (const left of [2, 1]) {
      const first = await authenticate(app, client_token);
      const again = await authenticateAgain(app, client_token);
      assert.deepEqual([first?.token.num_uses, again?.token.num_uses], [left, left]);
    }
    assert.equal(await authenticate(app, client_token), undefined);
    const uncounted = await create('root', { policies: ['reader'] });
    assert.equal((await authenticateAgain(app, uncounted.client_token))?.token.num_uses, 0);
  });

  test('revoking a token revokes what descends from it, and nothing beside it', async () => {
    const { app, as, create } = await openServer(open);
    const parent = await create('root', { policies: ['reader'] });
    const child = await create(parent.client_token);
    const grandchild = await create(child.client_token);
    const sibling = await create('root', { policies: ['reader'] });
    await revokeByText(app, await as('root'), { token: parent.client_token });
    assert.equal(await isKnown(app, parent.client_token), false);
    assert.equal(await isKnown(app, child.client_token), false);
    assert.equal(await isKnown(app, grandchild.client_token), false);
    assert.equal(await isKnown(app, sibling.client_token), true);
  });

  test('a token that was in use a moment ago is refused once its revocation is acknowledged', async () => {
    const { app, as, create } = await openServer(open);
    const [used, other] = [await create('root'), await create('root')];
    for (const { client_token } of [used, other]) {
      assert.ok(await authenticate(app, client_token));
      assert.ok(await authenticate(app, client_token));
    }
    const caller = await as('root');
    await revokeByText(app, caller, { token: used.client_token });
    assert.equal(await authenticate(app, used.client_token), undefined);
    assert.ok(await authenticate(app, other.client_token));
  });

  test('a line of any length is revoked whole', async () => {
    const { app, as, create } = await openServer(open);
    const first = await create('root', { policies: ['reader'] });
    let last = first.client_token;
    for (let depth = 0; depth < 60; depth++) last = (await create(last)).client_token;
    await revokeByAccessor(app, await as('root'), first);
    assert.equal(await isKnown(app, last), false);
  });

  test('a token cannot be made below one that is revoked meanwhile', async () => {
    const { app, as, create } = await openServer(open);
    const parent = await create('root', { policies: ['reader'] });
    const caller = await as(parent.client_token);
    await revokeSelf(app, await as(parent.client_token));
    await assert.rejects(
      createToken(app, caller, { request: PLAIN_REQUEST, orphan: false }),
      (error: unknown) => isConflict(error),
    );
  });

  test('what descends from a token that has run out is dead before anything is tidied', async () => {
    const { app, create, clock } = await openServer(open);
    const parent = await create('root', { policies: ['reader'], ttl: 60 });
    const child = await create(parent.client_token, { ttl: 3600 });
    const batch = await create(parent.client_token, { ttl: 3600, type: 'batch' });
    clock.now += 60;
    assert.equal(await isKnown(app, child.client_token), false);
    assert.equal(await isKnown(app, batch.client_token), false);
  });

  test('tidying deletes what has run out and leaves the rest', async () => {
    const { app, as, create, clock } = await openServer(open);
    await create('root', { policies: ['reader'], ttl: 60 });
    const living = await create('root', { policies: ['reader'], ttl: 61 });
    clock.now += 60;
    const caller = await as('root');
    await tidyTokens(app, { commit: (effects) => app.commit(caller, effects), stopping: false });
    const rows = await app.db.selectFrom('token').select('accessor').execute();
    assert.equal(rows.length, 2);
    assert.equal(await isKnown(app, living.client_token), true);
  });

  test('revoke-orphan leaves the children, as orphans', async () => {
    const { app, as, create } = await openServer(open);
    const parent = await create('root', { policies: ['reader'] });
    const child = await create(parent.client_token);
    await revokeOrphan(app, await as('root'), { token: parent.client_token });
    assert.equal(await isKnown(app, parent.client_token), false);
    const own = dataOf(await lookUpSelf(app, await as(child.client_token)));
    assert.equal(own.orphan, true);
    await assert.rejects(
      revokeOrphan(app, await as('root'), { token: 'x' }),
      refusal(/token to revoke not found/),
    );
  });

  test('a line of tokens has an end, and an orphan begins another', async () => {
    const { app, as, create, mount } = await openServer(open);
    let last = 'root';
    for (let place = 2; place <= 100; place += 1) last = (await create(last)).client_token;
    await assert.rejects(create(last), refusal(/at most the 100th of its line/));
    assert.match((await create(last, { type: 'batch', policies: ['r'] })).client_token, /^hvb\./);
    const caller = testCaller(mount, (await authenticate(app, last)) ?? assert.fail());
    const orphan = await createToken(app, caller, { request: PLAIN_REQUEST, orphan: true });
    assert.ok(await as(orphan.auth?.client_token ?? ''));
  });

  test('revoking an unknown token is no mistake', async () => {
    const { app, as } = await openServer(open);
    assert.deepEqual(await revokeByText(app, await as('root'), { token: 'x' }), {});
  });

  test('a renewal lasts from now on, and never beyond the maximum', async () => {
    const { app, as, create, clock } = await openServer(open);
    const made = await create('root', { policies: ['reader'], ttl: 600, explicit_max_ttl: 900 });
    clock.now += 500;
    const short = await renewSelf(app, await as(made.client_token), { increment: 200 });
    assert.equal(short.auth?.lease_duration, 200);
    assert.equal(short.auth?.client_token, made.client_token);
    const capped = await renewSelf(app, await as(made.client_token), { increment: 600 });
    assert.equal(capped.auth?.lease_duration, 400);
    assert.match(capped.warnings?.[0] ?? '', /^TTL of "10m0s" exceeded the effective max_ttl of/);
    clock.now += 400;
    assert.equal(await isKnown(app, made.client_token), false);
  });

  test('neither a root token nor one made without renewal can be renewed', async () => {
    const { app, as, create } = await openServer(open);
    const made = await create('root', { policies: ['reader'], renewable: false });
    for (const text of ['root', made.client_token]) {
      await assert.rejects(
        renewSelf(app, await as(text), { increment: 60 }),
        refusal(/lease is not renewable/),
      );
    }
  });

  test('a batch token works, cannot be revoked or altered, and ends with its parent', async () => {
    const { app, as, create } = await openServer(open);
    const parent = await create('root', { policies: ['reader'] });
    const { client_token, accessor } = await create(parent.client_token, { type: 'batch' });
    assert.match(client_token, /^hvb\./);
    assert.equal(accessor, '');
    assert.equal(await isKnown(app, client_token), true);
    const last = client_token.at(-6) === 'A' ? 'B' : 'A';
    const altered = `${client_token.slice(0, -6)}${last}${client_token.slice(-5)}`;
    assert.equal(await isKnown(app, altered), false);
    await assert.rejects(
      revokeSelf(app, await as(client_token)),
      refusal(/batch tokens cannot be revoked/),
    );
    await revokeByText(app, await as('root'), { token: parent.client_token });
    assert.equal(await isKnown(app, client_token), false);
  });

  test('a batch token of an older server, which names no accessor, ends with its former parent', async () => {
    const { app, as, clock } = await openServer(open);
    const { token: parent } = await createChosen(app, clock.now);
    const { parent_accessor: _, ...older } = planned(
      planRootToken(clock.now),
      'batch',
      parent,
      clock.now,
    );
    const { client_token } = mintToken(app, older);
    assert.equal(await isKnown(app, client_token), true);
    await revokeByText(app, await as('root'), { token: 'chosen' });
    assert.equal(await isKnown(app, client_token), false);
    await createChosen(app, clock.now + 1);
    assert.equal(await isKnown(app, client_token), false);
    assert.equal(await isKnown(app, 'chosen'), true);
  });

  test('a token of a role bound to addresses works from there only', async () => {
    const { app, as, create } = await openServer(open);
    await writeTokenRole(app, await as('root'), {
      role_name: 'office',
      token_bound_cidrs: ['192.0.2.0/24'],
    });
    const { client_token } = await create('root', { policies: ['reader'] }, 'office');
    assert.ok(await authenticate(app, client_token, '192.0.2.9'));
    assert.ok(await authenticate(app, client_token, '::ffff:192.0.2.9'));
    assert.equal(await authenticate(app, client_token, '192.0.3.9'), undefined);
    assert.equal(await authenticate(app, client_token), undefined);
  });

  test('a changed policy holds for the next request of a token made before', async () => {
    const { app, as, create } = await openServer(open);
    const caller = await as('root');
    const read = { path: 'pki/roles/web', operation: 'read' as const, sudoRequired: false };
    const may = async (text: string) => judgeAccess((await as(text)).acl ?? assert.fail(), read);
    await writePolicy(app, caller, {
      name: 'Reader',
      text: 'path "pki/roles/*" { capabilities = ["read"] }',
    });
    const { client_token, warnings } = await create('root', { policies: ['reader'] });
    assert.deepEqual(warnings, []);
    assert.equal((await may(client_token)).allowed, true);
    await removePolicy(app, caller, { name: 'reader' });
    assert.equal((await may(client_token)).allowed, false);
  });
});
