import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../../../test/support/engines.ts';
import { Failure } from '../../../core/failure.ts';
import { columnTypes } from '../../../store/columns.ts';
import { build } from '../../../store/database.ts';
import { vaultTokenOwners } from '../../../store/migrations/0070-vault-token-owners.ts';
import { type Write, write } from '../../../store/write.ts';
import type { Resource } from '../../resource/resource.ts';
import { insertResource } from '../../resource/store.ts';
import {
  deleteVaultToken,
  findLatestToken,
  findSameToken,
  findVaultToken,
  holdCurrentToken,
  insertVaultToken,
  isHeldOn,
  listLatestStatus,
  listTokenMacs,
  listUnhashedTokens,
  listVaultTokens,
  replaceToken,
  saveTokenMac,
  saveTokenSecret,
  saveTokenState,
} from './store.ts';

type Added = Parameters<typeof insertVaultToken>[0];

const token = (id: string, store_id: string, more: Partial<Added> = {}): Added => ({
  id,
  store_id,
  status: 'current',
  secret_sealed: Uint8Array.of(1),
  renew_at: 10,
  expires_at: 20,
  replaced_at: null,
  token_mac: id,
  project_id: 'p_1',
  org_id: 'o_1',
  ...more,
});

const reached = (...secret: number[]) => ({
  secret_sealed: Uint8Array.from(secret),
  token_mac: `reached by ${secret}`,
});

const stored: Resource = {
  id: 'csvlt_1',
  type: 'credential-store',
  subtype: 'vault',
  scope_id: 'p_1',
  container_id: 'p_1',
  owner_id: '',
  name: null,
  description: null,
  unique_key: null,
  version: 1,
  created_ms: 1,
  updated_ms: 1,
  body: {},
  secret_sealed: null,
};

/** What a database that was there before has of an organization's project, with a store of it, and one that is gone. */
const before: Resource[] = [
  { ...stored, id: 'p_1', type: 'scope', subtype: 'project', scope_id: 'o_1', container_id: 'o_1' },
  stored,
];

eachEngine('tokens of Vault stores', (open, engine) => {
  test('that were there before get their owners, as far as their stores are there', async () => {
    const store = await open();
    const run = (sql: string): Write => ({ sql, parameters: [] });
    await store.commit([
      ...before.map(insertResource),
      insertVaultToken(token('vt_1', 'csvlt_1')),
      insertVaultToken(token('vt_2', 'csvlt_2')),
      ...['project_id', 'org_id'].map((name) => run(`alter table vault_token drop column ${name}`)),
      ...vaultTokenOwners.up(columnTypes(engine)).map(run),
    ]);
    for (const [id, project_id, org_id] of [
      ['vt_1', 'p_1', 'o_1'],
      ['vt_2', null, null],
    ] as const) {
      const found = await findVaultToken(store.db, id);
      assert.deepEqual([found?.project_id, found?.org_id], [project_id, org_id]);
    }
  });

  test('a page has no secrets, which may be long, and none is left out', async () => {
    const store = await open();
    const secret_sealed = new Uint8Array(1_000_000);
    const ids = Array.from({ length: 7 }, (_, at) => `vt_${at}`);
    for (const id of ids) {
      const effects = [
        insertResource({ ...stored, id: `csvlt_${id}` }),
        insertVaultToken(token(id, `csvlt_${id}`, { secret_sealed })),
      ];
      await store.commit(effects);
    }
    const all = await listVaultTokens(store.db, { after: '', limit: 200 });
    assert.deepEqual(
      all.map(({ id }) => id),
      ids,
    );
    assert.ok(all.every((one) => !('secret_sealed' in one)));
    await store.commit([write(build.updateTable('vault_token').set({ token_mac: null }))]);
    assert.deepEqual(await listTokenMacs(store.db, ids), new Set([null]));
    const some = ['vt_1', 'vt_3'];
    await store.commit(some.map((id) => saveTokenMac(id, id)));
    const unhashed = ids.filter((id) => !some.includes(id));
    const first = await listUnhashedTokens(store.db, { skipped: 0, limit: 3 });
    assert.deepEqual(first, unhashed.slice(0, 3));
    const rest = await listUnhashedTokens(store.db, { skipped: 3, limit: 3 });
    assert.deepEqual(rest, unhashed.slice(3));
    assert.deepEqual(await listTokenMacs(store.db, [...some, 'gone']), new Set(some));
  });

  test('are replaced once, whoever comes second is refused', async () => {
    const store = await open();
    await store.commit([insertVaultToken(token('vt_1', 'csvlt_1'))]);
    assert.equal((await findLatestToken(store.db, 'csvlt_1'))?.id, 'vt_1');
    const next = (id: string) => [replaceToken('vt_1', 5), insertVaultToken(token(id, 'csvlt_1'))];
    await store.commit(next('vt_2'));
    await assert.rejects(store.commit(next('vt_3')), Failure);
    assert.equal((await findLatestToken(store.db, 'csvlt_1'))?.id, 'vt_2');
    const old = await findVaultToken(store.db, 'vt_1');
    assert.equal(old?.status, 'maintaining');
    assert.equal(old?.replaced_at, 5);
  });

  test('that no longer work stay what they are when they are replaced', async () => {
    const store = await open();
    await store.commit([insertVaultToken(token('vt_1', 'csvlt_1', { status: 'expired' }))]);
    await store.commit([replaceToken('vt_1', 5)]);
    assert.equal((await findVaultToken(store.db, 'vt_1'))?.status, 'expired');
    assert.equal(await findLatestToken(store.db, 'csvlt_1'), undefined);
  });

  test('are told apart by whether their store is there', async () => {
    const store = await open();
    await store.commit([
      insertResource(stored),
      insertVaultToken(token('vt_1', 'csvlt_1')),
      insertVaultToken(token('vt_2', 'csvlt_2', { status: 'revoked' })),
    ]);
    const page = await listVaultTokens(store.db, { after: '', limit: 10 });
    assert.deepEqual(
      page.map((one) => [one.id, one.stored]),
      [
        ['vt_1', true],
        ['vt_2', false],
      ],
    );
    assert.equal((await listVaultTokens(store.db, { after: 'vt_1', limit: 10 })).length, 1);
    const statuses = await listLatestStatus(store.db, ['csvlt_1', 'csvlt_2', 'csvlt_3']);
    assert.deepEqual([...statuses].sort(), [
      ['csvlt_1', 'current'],
      ['csvlt_2', 'revoked'],
    ]);
  });

  const replaced: Partial<Added> = { status: 'maintaining', replaced_at: 100, expires_at: 300 };
  const beside: [what: string, other: Partial<Added>, isHeld: boolean][] = [
    ['is what a store works with', { replaced_at: null }, true],
    ['is that of a store, and expired', { replaced_at: null, status: 'expired' }, false],
    ['is that of a store, and was refused', { replaced_at: null, status: 'revoked' }, true],
    ['was replaced later', { ...replaced, replaced_at: 101 }, true],
    ['was replaced at the same time and has a later id', { ...replaced, id: 'vt_6' }, true],
    ['was replaced at the same time and has an earlier id', { ...replaced, id: 'vt_4' }, false],
    ['was replaced earlier', { ...replaced, replaced_at: 99 }, false],
    ['has no time left', { ...replaced, replaced_at: 101, expires_at: 200 }, false],
    ['was replaced later, and refused', { ...replaced, replaced_at: 101, status: 'revoked' }, true],
    [
      'was replaced later, and expired',
      { ...replaced, replaced_at: 101, status: 'expired' },
      false,
    ],
    ['is of another token', { replaced_at: null, token_mac: 'other' }, false],
  ];

  for (const [what, other, isHeld] of beside) {
    const ends = isHeld ? 'is left to another row' : 'is its own to end';
    test(`what a replaced one holds ${ends} where the other ${what}`, async () => {
      const store = await open();
      const own = { id: 'vt_5', token_mac: 'same', replaced_at: 100 };
      await store.commit([
        insertVaultToken(token('vt_5', 'csvlt_1', { ...replaced, ...own })),
        insertVaultToken(token('vt_7', 'csvlt_2', { token_mac: 'same', ...other })),
      ]);
      assert.equal(await isHeldOn(store.db, own, 200), isHeld);
    });
  }

  const changed: [what: string, change: Write | undefined, isHeld: boolean][] = [
    ['is what it was', undefined, true],
    ['is renewed', saveTokenState(token('vt_1', 'csvlt_1'), { renew_at: 30 }), true],
    ['is reached in another way', saveTokenSecret('vt_1', reached(2)), true],
    ['is replaced', replaceToken('vt_1', 5), false],
    ['has expired', saveTokenState(token('vt_1', 'csvlt_1'), { status: 'expired' }), false],
    ['is gone', deleteVaultToken('vt_1'), false],
  ];

  for (const [what, change, isHeld] of changed) {
    test(`what was asked with one ${isHeld ? 'can be kept' : 'is refused'} where it ${what}`, async () => {
      const store = await open();
      await store.commit([insertVaultToken(token('vt_1', 'csvlt_1'))]);
      if (change) await store.commit([change]);
      const held = store.commit([holdCurrentToken('vt_1'), insertResource(stored)]);
      if (isHeld) await held;
      else await assert.rejects(held, Failure);
    });
  }

  test('are found by what they have in common with one that is gone, those that work before others', async () => {
    const store = await open();
    const same = { token_mac: 'same' };
    await store.commit([
      insertVaultToken(token('vt_1', 'csvlt_1', { ...same, status: 'expired' })),
    ]);
    assert.equal((await findSameToken(store.db, 'same'))?.id, 'vt_1');
    await store.commit([insertVaultToken(token('vt_2', 'csvlt_2', { ...replaced, ...same }))]);
    assert.equal((await findSameToken(store.db, 'same'))?.id, 'vt_2');
    assert.equal(await findSameToken(store.db, ''), undefined);
  });

  test('that are reached in another way before they have a hash keep that of now', async () => {
    const store = await open();
    await store.commit([insertVaultToken(token('vt_1', 'csvlt_1'))]);
    await store.commit([write(build.updateTable('vault_token').set({ token_mac: null }))]);
    await store.commit([saveTokenSecret('vt_1', reached(2)), saveTokenMac('vt_1', 'of before')]);
    assert.deepEqual(await listTokenMacs(store.db, ['vt_1']), new Set([reached(2).token_mac]));
  });

  test('keep their state and their sealed connection until they are deleted', async () => {
    const store = await open();
    await store.commit([insertVaultToken(token('vt_1', 'csvlt_1'))]);
    await store.commit([
      saveTokenState(token('vt_1', 'csvlt_1'), { renew_at: 30, expires_at: 40 }),
      saveTokenSecret('vt_1', reached(2, 3)),
    ]);
    const found = await findVaultToken(store.db, 'vt_1');
    assert.equal(found?.renew_at, 30);
    assert.deepEqual([...(found?.secret_sealed ?? [])], [2, 3]);
    await store.commit([deleteVaultToken('vt_1')]);
    assert.equal(await findVaultToken(store.db, 'vt_1'), undefined);
    await assert.rejects(store.commit([saveTokenSecret('vt_1', reached(2))]), Failure);
  });

  test('that are reached in another way are not what was found out by the former one', async () => {
    const store = await open();
    const before = token('vt_1', 'csvlt_1');
    await store.commit([insertVaultToken(before)]);
    const statusNow = async () => (await findVaultToken(store.db, 'vt_1'))?.status;
    await store.commit([saveTokenState(before, { status: 'revoked' })]);
    assert.equal(await statusNow(), 'revoked');
    await store.commit([saveTokenSecret('vt_1', reached(2, 3))]);
    assert.equal(await statusNow(), 'current');
    await store.commit([saveTokenState(before, { status: 'expired' })]);
    assert.equal(await statusNow(), 'current');
    await store.commit([replaceToken('vt_1', 5)]);
    const late = { ...before, secret_sealed: Uint8Array.of(2, 3) };
    await store.commit([saveTokenState(late, { status: 'expired' })]);
    assert.equal(await statusNow(), 'maintaining');
    const read = { ...late, status: 'maintaining' } as const;
    await store.commit([saveTokenState(read, { status: 'current' })]);
    assert.equal(await statusNow(), 'maintaining', 'it was read before it was replaced');
    await store.commit([saveTokenState({ ...read, replaced_at: 5 }, { status: 'expired' })]);
    assert.equal(await statusNow(), 'expired');
    await assert.rejects(store.commit([saveTokenSecret('vt_1', reached(4))]), Failure);
  });
});
