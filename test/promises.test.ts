import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const rows = readFileSync('SECURITY.md', 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (promise|---) /.test(line));

/** Files of the repository that a text names. */
function filesIn(text: string): string[] {
  return [...text.matchAll(/`((?:src|test|docs)\/[^`\s]+)`/g)].flatMap(([, file]) => file ?? []);
}

test('every promise of SECURITY.md names the tests that hold it', () => {
  assert.ok(rows.length > 20);
  for (const row of rows) {
    const [, , held = ''] = row.split('|');
    const tests = filesIn(held);
    assert.ok(tests.length > 0, row);
    assert.ok(
      tests.every((file) => file.endsWith('.test.ts')),
      row,
    );
  }
});

test('every file that SECURITY.md names is there', () => {
  const missing = filesIn(rows.join('\n')).filter((file) => !existsSync(file));
  assert.deepEqual(missing, []);
});
