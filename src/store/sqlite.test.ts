import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { sqlitePlace } from '../../test/support/engines.ts';
import { numberParameters } from './sqlite-reader.ts';
import { openStore } from './store.ts';

const numbered: [why: string, from: string, to: string][] = [
  ['a parameter', 'where a = $1 and b = $12', 'where a = ?1 and b = ?12'],
  ['the same parameter twice', '$1 $1', '?1 ?1'],
  ['text in quotes', "select '$1', '''$2', $3", "select '$1', '''$2', ?3"],
  ['a name in quotes', 'select "$1", "a""$2" from $3', 'select "$1", "a""$2" from ?3'],
  ['a dollar sign alone', 'select $a, $', 'select $a, $'],
];

for (const [why, from, to] of numbered) {
  test(`parameters are numbered as SQLite does: ${why}`, () => {
    assert.equal(numberParameters(from), to);
  });
}

describe('a directory', () => {
  const place = sqlitePlace();
  const { directory } = { directory: '', ...place.options() };
  after(() => place.remove());

  test('can be open once at a time', async () => {
    const store = await place.open();
    await assert.rejects(place.open(), {
      kind: 'unavailable',
      message: `another process has the directory ${directory} open`,
    });
    await store.close();
    await (await place.open()).close();
  });

  test('is nobody else’s to read', async () => {
    const store = await place.open();
    await store.commit([{ audit: '{}' }]);
    for (const name of readdirSync(directory)) {
      assert.equal(statSync(join(directory, name)).mode & 0o077, 0, name);
    }
    await store.close();
  });

  test('that holds no database is refused in one line', async () => {
    const broken = join(directory, 'broken');
    mkdirSync(broken);
    writeFileSync(join(broken, 'gatehouse.db'), 'this is something else entirely\n'.repeat(100));
    const options = { engine: 'sqlite', directory: broken } as const;
    await assert.rejects(openStore(options), { kind: 'unavailable' });
  });
});

describe('a backup', () => {
  const place = sqlitePlace();
  const { directory } = { directory: '', ...place.options() };
  after(() => place.remove());

  test('is the database of one moment, made while writing goes on', async () => {
    const store = await place.open();
    let stop = false;
    let written = 0;
    const writing = (async () => {
      for (; !stop; written += 1) await store.commit([{ audit: `{"n":${written}}` }]);
    })();
    for (let i = 0; i < 20; i += 1) await store.commit([{ audit: '{}' }]);
    const copy = join(directory, 'copy');
    mkdirSync(copy);
    await store.backup?.(join(copy, 'gatehouse.db'));
    const before = await store.db.selectFrom('audit_entry').select('seq').execute();
    stop = true;
    await writing;
    await store.close();

    const restored = await openStore({ engine: 'sqlite', directory: copy, node_name: 'test' });
    const rows = await restored.db.selectFrom('audit_entry').select('seq').orderBy('seq').execute();
    assert.ok(rows.length >= 20 && rows.length <= before.length);
    assert.deepEqual(
      rows.map(({ seq }) => seq),
      rows.map((_, index) => index + 1),
    );
    await restored.commit([{ audit: '{}' }]);
    await restored.close();
  });

  test('does not overwrite a file', async () => {
    const store = await place.open();
    const file = join(directory, 'exists');
    writeFileSync(file, 'precious');
    await assert.rejects(async () => store.backup?.(file), { kind: 'conflict' });
    await store.close();
  });
});
