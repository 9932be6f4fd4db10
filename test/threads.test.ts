import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

// Every thread has bounds, and the guide says which.

const GUIDE = 'docs/guides/load.md';
const HEAD = '| Thread | What goes in | One piece of work | What waits | Deadline | When it ends |';
/** Start whichever thread they are told to. */
const STARTERS = ['src/core/on-demand.pool.ts', 'src/app/sealed-thread.pool.ts'];

interface Started {
  file: string;
  name: string;
}

const sources = globSync('src/**/*.ts').filter((file) => !file.endsWith('.test.ts'));

/** Where threads are started, by the names that they have there. */
function listStarted(): Started[] {
  return sources.flatMap((file) => {
    if (STARTERS.includes(file)) return [];
    const text = readFileSync(file, 'utf8');
    return text
      .split(/new (?:Worker|OnDemandThread)\b|= sealedThread</)
      .slice(1)
      .map((after) => ({ file, name: /name: '([^']+)'/.exec(after)?.[1] ?? '(no name)' }));
  });
}

/** The cells of each row of the guide's table. */
function readTable(): string[][] {
  const lines = readFileSync(GUIDE, 'utf8').split('\n');
  const first = lines.indexOf(HEAD) + 2;
  const rows = lines.slice(first);
  return rows
    .slice(
      0,
      rows.findIndex((line) => !line.startsWith('|')),
    )
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

test('each thread that the server starts is in the guide, with all of its bounds', () => {
  const rows = readTable();
  assert.deepEqual(
    rows.map(([name]) => name).sort(),
    listStarted()
      .map(({ name }) => `\`${name}\``)
      .sort(),
  );
  for (const row of rows) {
    const [name = ''] = row;
    assert.equal(row.length, 6, name);
    assert.ok(!row.includes(''), name);
  }
});

test('there is no entry of a thread that nobody starts by a name', () => {
  const entries = sources.filter((file) => /thread\.ts$/.test(file));
  assert.equal(entries.length, listStarted().length);
});

test('only a thread whose orders are watched over one by one has no deadline of its own', () => {
  const without = sources.filter((file) =>
    /deadline_ms: undefined/.test(readFileSync(file, 'utf8')),
  );
  assert.deepEqual(without.sort(), [
    'src/app/sealed-thread.pool.ts',
    'src/broker/vault/client/client.ts',
  ]);
});
