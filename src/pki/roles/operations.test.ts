import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, testCaller, testMount } from '../../../test/support/app.ts';
import { countCommitting } from '../../../test/support/committing.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { heapUsed } from '../../../test/support/heap.ts';
import type { App } from '../../app/app.ts';
import { Failure } from '../../core/failure.ts';
import { findCachedRole, readRole, removeRole, updateRole, writeRole } from './operations.ts';
import { planRole } from './plan.ts';
import { type Role, roleSchema } from './role.ts';
import { MOST_OF_ROLE } from './room.ts';
import { saveRole } from './store.ts';

const roleWith = (fields: Partial<Role>): Role => ({ ...roleSchema.parse({}), ...fields });

/** Texts that make a role which is empty but for them one of exactly so many bytes. */
function filling(bytes: number): string[] {
  const { role } = planRole(roleWith({ ou: [''] }));
  const rest = bytes - JSON.stringify(role).length;
  const each = 'x'.repeat(8000);
  const whole = Math.floor(rest / `"${each}",`.length);
  return [...Array(whole).fill(each), 'x'.repeat(rest - whole * `"${each}",`.length)];
}

const newMount = () => testMount({ kind: 'secret', path: 'pki/', type: 'pki' });

const isRefused = (error: unknown) =>
  error instanceof Failure &&
  error.kind === 'invalid' &&
  /^the role would have 1048577 bytes as JSON, and may have at most 1048576: its longest fields are ou$/.test(
    error.message,
  );

eachEngine('roles that are kept', (open) => {
  test('names without a role, however many are asked for, take no more memory than there is for roles', async () => {
    const { app } = await openTestApp(await open());
    const before = heapUsed();
    for (let at = 0; at < 2000; at++) {
      assert.equal(await findCachedRole(app, 'mount', `${at}`.padEnd(100_000, 'n')), undefined);
    }
    // Together they are 191 MiB.
    const grown = heapUsed() - before;
    assert.ok(grown < 80 << 20, `${grown >> 20} MiB more`);
  });
});

eachEngine('how long a role may be', (open) => {
  test('written at once, or field by field, it has what one request can make, and no byte more', async () => {
    const { app } = await openTestApp(await open());
    const caller = testCaller(newMount());
    const write = (ou: string[]) => writeRole(app, caller, { name: 'r', ...roleWith({ ou }) });
    const patch = (ou: string[]) => updateRole(app, caller, { name: 'r', ou });
    await assert.rejects(write(filling(MOST_OF_ROLE + 1)), isRefused);
    await write(filling(MOST_OF_ROLE));
    await assert.rejects(patch(filling(MOST_OF_ROLE + 1)), isRefused);
    await patch(['short']);
    await assert.rejects(patch(filling(MOST_OF_ROLE + 1)), isRefused);
    await patch(filling(MOST_OF_ROLE));
    await assert.rejects(
      updateRole(app, caller, { name: 'r', country: ['x'] }),
      /its longest fields are ou$/,
    );
  });

  test('one that was longer before is read, made shorter and deleted, and does not grow', async () => {
    const { app } = await openTestApp(await open());
    const mount = newMount();
    const caller = testCaller(mount);
    const ou = filling(3 * MOST_OF_ROLE);
    const { role: before } = planRole(roleWith({ ou, country: ['CH', 'FR'] }));
    await app.store.commit(saveRole(mount.id, 'r', { read: undefined, role: before }));
    const patch = (fields: Partial<Role>) => updateRole(app, caller, { name: 'r', ...fields });
    assert.deepEqual((await readRole(app, caller, { name: 'r' })).data?.country, ['CH', 'FR']);
    await assert.rejects(patch({ country: ['CH', 'FRA'] }), /and may have at most 1048576/);
    await patch({ country: ['CH', 'DE'] });
    await patch({ country: ['CH'] });
    await removeRole(app, caller, { name: 'r' });
    await assert.rejects(readRole(app, caller, { name: 'r' }));
  });
});

/** As many changes at once, counted where they are made durable. */
async function countChanges(app: App, ou: string[], names: readonly string[]): Promise<number> {
  const mount = newMount();
  for (const name of new Set(names)) {
    await writeRole(app, testCaller(mount), { name, ...roleWith({ ou }) });
  }
  const { counting, most } = countCommitting(app);
  const change = (name: string, at: number) =>
    updateRole(counting, testCaller(mount), { name, ttl: at });
  await Promise.all(names.map(change));
  return most();
}

const SAME = Array<string>(12).fill('r');
const OTHERS = SAME.map((name, at) => `${name}${at}`);

eachEngine('roles that are changed by many at once', (open) => {
  for (const [bytes, names, most, why] of [
    [8 << 10, OTHERS, 12, 'short ones wait for nobody'],
    [8 << 10, SAME, 12, 'nor do those who change the same'],
    [64 << 10, OTHERS, 8, 'of middling ones some are held'],
    [64 << 10, SAME, 1, 'of the same one'],
    [512 << 10, OTHERS, 2, 'of long ones few'],
    [512 << 10, SAME, 1, 'of the same one'],
  ] as const) {
    test(`${why}: ${bytes} bytes`, async () => {
      const { app } = await openTestApp(await open());
      const counted = await countChanges(app, filling(bytes), names);
      assert.ok(counted <= most && counted > most / 4, `${counted} of ${most}`);
    });
  }
});
