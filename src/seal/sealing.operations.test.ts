import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openTestApp, requireTestMount, testCaller } from '../../test/support/app.ts';
import { eachEngine } from '../../test/support/engines.ts';
import { authenticate } from '../access/permissions/authentication.operations.ts';
import { writePolicy } from '../access/policies/operations.ts';
import { deleteTree } from '../access/tokens/ending.store.ts';
import { deleteBare } from '../access/tokens/expiration.store.ts';
import { mintToken } from '../access/tokens/minting.operations.ts';
import { planRootToken } from '../access/tokens/token.ts';
import type { App } from '../app/app.ts';
import { bumpPermissionVersion } from '../store/permission-version.ts';
import { findSealer, rememberSealer } from './sealing.operations.ts';

eachEngine('who may seal while the database is gone', (open) => {
  async function newSealer(app: App): Promise<{ id: string; text: string }> {
    const { client_token, token, effects } = mintToken(app, planRootToken(app.now() / 1000));
    await app.store.commit(effects);
    const known = await authenticate(app, client_token);
    assert.ok(known);
    rememberSealer(app, known);
    return { id: token.id, text: client_token };
  }
  const may = (app: App, { text }: { text: string }): boolean =>
    findSealer(app, text, '127.0.0.1') !== undefined;
  async function untilForgotten(app: App, sealer: { text: string }): Promise<boolean> {
    for (let turns = 0; turns < 1000 && may(app, sealer); turns += 1) {
      // As long as a read takes, on either engine.
      await app.db.selectFrom('permission_version').selectAll().execute();
      await nextTurn();
    }
    return !may(app, sealer);
  }

  test('is not who was revoked on this node, though their token is never shown again', async () => {
    const { app } = await openTestApp(await open());
    const [gone, stays] = [await newSealer(app), await newSealer(app)];
    await app.store.commit([deleteTree(gone.id)]);
    assert.ok(await untilForgotten(app, gone));
    assert.ok(may(app, stays));
    await app.store.commit(bumpPermissionVersion());
    await app.store.commit([deleteTree(stays.id)]);
    assert.ok(await untilForgotten(app, stays));
  });

  for (const shows of [false, true]) {
    test(`is not who came after them with the same chosen id${shows ? ', and was seen' : ''}`, async () => {
      const { app } = await openTestApp(await open());
      const make = (policies: string[]) => {
        const plan = { ...planRootToken(app.now() / 1000), policies };
        return mintToken(app, plan, 'chosen');
      };
      const [strong, weak] = [make(['root']), make(['default'])];
      const sealer = { text: 'chosen' };
      const see = async () =>
        rememberSealer(app, (await authenticate(app, 'chosen')) ?? assert.fail());
      await app.store.commit(strong.effects);
      await see();
      assert.ok(may(app, sealer));
      const ends = [deleteTree(strong.token.id), deleteBare(strong.token)];
      await app.store.commit([...ends, ...weak.effects]);
      if (shows) await see();
      assert.ok(shows ? !may(app, sealer) : await untilForgotten(app, sealer));
    });
  }

  test('is told for many who are looked up together, and only of those who are gone', async () => {
    const { app } = await openTestApp(await open());
    const many: { id: string; text: string }[] = [];
    for (let at = 0; at < 300; at += 1) many.push(await newSealer(app));
    const gone = many[250] ?? assert.fail();
    await app.store.commit([deleteTree(gone.id)]);
    assert.ok(await untilForgotten(app, gone));
    assert.ok(many.every((one) => one === gone || may(app, one)));
  });

  test('is not who was denied it, though another has more policies by now than are read, who is not either', async () => {
    const { app } = await openTestApp(await open());
    const caller = testCaller(await requireTestMount(app, 'auth/token/'));
    const grant = 'path "sys/seal" { capabilities = ["update", "sudo"] }';
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of [...names, 'denied']) await writePolicy(app, caller, { name, text: grant });
    const sealer = async (policies: string[]): Promise<{ text: string }> => {
      const plan = { ...planRootToken(app.now() / 1000), policies };
      const { client_token, effects } = mintToken(app, plan);
      await app.store.commit(effects);
      await rememberSealer(app, (await authenticate(app, client_token)) ?? assert.fail());
      return { text: client_token };
    };
    const [longer, denied, stays] = [
      await sealer(names),
      await sealer(['denied']),
      await sealer(['a']),
    ];
    assert.ok([longer, denied, stays].every((one) => may(app, one)));
    const stanzas = Array.from({ length: 1999 }, (_, at) => `path "x/${at}" {}`);
    for (const name of names) {
      await writePolicy(app, caller, { name, text: [grant, ...stanzas].join('\n') });
    }
    await writePolicy(app, caller, { name: 'denied', text: 'path "sys/seal" { policy = "deny" }' });
    assert.ok(await untilForgotten(app, denied));
    assert.ok(await untilForgotten(app, longer));
    assert.ok(may(app, stays));
  });
});
