import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  enableTestMount,
  openTestApp,
  requireTestMount,
  testCaller,
} from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { makePair } from '../../../test/support/policy-service.ts';
import type { Caller } from '../../app/caller.ts';
import { parsePem } from '../../core/pem.ts';
import { MOUNT_TABLES } from '../../system/mounts/purge.store.ts';
import {
  noteAnswer,
  openClientKey,
  readPolicy,
  readPolicyAnswer,
  writePolicy,
} from './settings.operations.ts';

const { pem: trusted_ca } = makePair('CA');
const client = makePair('client');
const external_service_url = 'https://policy.test/';
const vault_client_cert_bundle = client.pem + client.key_pem;
const base64 = (bytes: Uint8Array | undefined): string =>
  Buffer.from(bytes ?? []).toString('base64');

eachEngine('the settings of a policy service', (open) => {
  async function start() {
    const { app, clock } = await openTestApp(await open());
    await enableTestMount(app, { kind: 'secret', path: 'pki/', type: 'pki' });
    const mount = await requireTestMount(app, 'pki/');
    const ask = (): Caller => testCaller(mount);
    const write = (patch: Parameters<typeof writePolicy>[2]) => writePolicy(app, ask(), patch);
    await write({ enabled: true, external_service_url, trusted_ca, vault_client_cert_bundle });
    return { app, clock, mount, ask, write };
  }

  test('what is left out stays, and each change is another version', async () => {
    const { app, clock, mount, write } = await start();
    clock.now += 10;
    const answer = await write({ timeout: 0, entity_jmespath: ' @ ' });
    assert.equal(answer.timeout, 15_000_000_000);
    assert.equal(answer.entity_jmespath, '@');
    assert.equal(answer.vault_client_cert_bundle, client.pem);
    assert.equal(Date.parse(answer.external_service_last_updated), clock.now * 1000);
    const stored = await readPolicy(app, mount.id);
    assert.equal(stored.version, 2);
    const key = parsePem(client.key_pem)[0]?.der;
    assert.equal(base64(openClientKey(app, mount.id, stored)), base64(key));
    await write({ vault_client_cert_bundle: '' });
    const bare = await readPolicy(app, mount.id);
    assert.equal(bare.client_key_sealed, null);
    assert.equal(bare.settings.vault_client_cert_bundle, '');
  });

  test('of changes at the same time none is lost', async () => {
    const { app, mount, write } = await start();
    await Promise.all([
      write({ timeout: 30 }),
      write({ entity_jmespath: 'name' }),
      write({ group_jmespath: '@' }),
      write({ enabled: false }),
    ]);
    const { settings, version } = await readPolicy(app, mount.id);
    assert.equal(version, 5);
    const { timeout, entity_jmespath, group_jmespath, enabled } = settings;
    assert.deepEqual([timeout, entity_jmespath, group_jmespath, enabled], [30, 'name', '@', false]);
  });

  test('what the service has answered is forgotten with other settings, and when the server is sealed', async () => {
    const { app, mount, ask, write } = await start();
    const isValidated = async (): Promise<boolean> =>
      (await readPolicyAnswer(app, ask())).external_service_validated;
    const note = async (): Promise<void> =>
      noteAnswer(app, mount.id, (await readPolicy(app, mount.id)).version);
    assert.equal(await isValidated(), false);
    await note();
    assert.equal(await isValidated(), true);
    await write({ timeout: 20 });
    assert.equal(await isValidated(), false);
    await note();
    assert.equal(await isValidated(), true);
    const stored = await readPolicy(app, mount.id);
    await app.barrier.seal();
    assert.equal(await isValidated(), false);
    assert.throws(() => openClientKey(app, mount.id, stored), { kind: 'unavailable' });
  });

  test('a key that was sealed for one mount opens for no other', async () => {
    const { app, mount } = await start();
    const stored = await readPolicy(app, mount.id);
    assert.throws(() => openClientKey(app, `${mount.id}x`, stored));
  });

  test('it goes with its mount', () => {
    assert.ok(MOUNT_TABLES.some(([table]) => table === 'pki_external_policy'));
  });
});
