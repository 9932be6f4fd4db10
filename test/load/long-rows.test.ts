import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { copyRow, numbered } from '../support/many-rows.ts';
import { startBroker } from '../support/seeded-broker.ts';
import { holdsNobodyUp } from '../support/turns.ts';

/** Rows that have as much as their limits let them hold nobody up, and are never all in memory at once. */

const broker = await startBroker({ after });
const { app } = broker.client.running;

const COUNT = 400;
/** What a role's grants may have in all. */
const GRANTS = 256_000;

before(async () => {
  const id = await broker.make('roles', { scope_id: broker.project, name: 'long' });
  const grants = sql`'{"grant_scope_ids":[],"grant_strings":["' || ${sql.lit('x'.repeat(GRANTS))} || '"]}'`;
  const changes = { id: numbered('id'), name: numbered('name'), body: grants };
  await copyRow(app.store, 'resource', { of: { id }, copies: COUNT, changes });
});

const noItem = encodeURIComponent('"/item/id" == "none"');
const LISTS: [query: string, items: number][] = [
  ['', COUNT + 1],
  ['&page_size=100', 100],
  ['&recursive=true', COUNT + 1],
  [`&filter=${noItem}`, 0],
];

for (const [query, items] of LISTS) {
  test(`nobody is held up by a list of roles with many grants${query && `: ${query.slice(1)}`}`, async () => {
    await holdsNobodyUp(async () => {
      const path = `roles?scope_id=${broker.project}${query}`;
      const list = await broker.admin('GET', path);
      assert.equal(list.status, 200, list.text.slice(0, 300));
      const found = list.field('items') ?? [];
      const own = Array.isArray(found) ? found.length : -1;
      assert.ok(own >= items && own <= items + 1, `${own}`);
    });
  });
}

test('a page that shows much ends early, and the next goes on where it ended', async () => {
  const fields = { type: 'tcp', address: '10.0.0.5', attributes: { default_port: 22 } };
  const id = await broker.make('targets', { scope_id: broker.project, name: 'long', ...fields });
  const description = sql`${sql.lit('x'.repeat(100_000))}`;
  const longBody = sql`substr(body, 1, length(body) - 1) || ',"filling":"' || ${description} || '"}'`;
  const changes = { id: numbered('id'), name: numbered('name'), body: longBody, description };
  await copyRow(app.store, 'resource', { of: { id }, copies: 200, changes });
  const seen = new Set<string>();
  const sizes: number[] = [];
  for (let token = ''; ; ) {
    const path = `targets?scope_id=${broker.project}&list_token=${encodeURIComponent(token)}`;
    const page = await broker.admin('GET', path);
    assert.equal(page.status, 200, page.text.slice(0, 300));
    const items = page.field('items');
    assert.ok(Array.isArray(items));
    sizes.push(items.length);
    for (const item of items) seen.add(item.id);
    if (page.field('response_type') === 'complete') break;
    token = page.textAt('list_token');
  }
  assert.ok(seen.size >= 201);
  assert.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    seen.size,
  );
  // Eight mebibytes of a hundred kilobytes each.
  assert.ok(sizes.length >= 3 && Math.max(...sizes) <= 84, `${sizes}`);
});
