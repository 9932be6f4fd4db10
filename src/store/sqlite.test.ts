import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { sqlitePlace } from '../../test/support/engines.ts';
import { numberParameters } from './sqlite/reader.ts';
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
