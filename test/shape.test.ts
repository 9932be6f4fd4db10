import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { findCircle, folderGraphs, listFunctions, SOURCES } from './support/source.ts';

const MOST_LINES = 300;
/** Longer, since each is one table and is read by looking a line up. */
const TABLES: Readonly<Record<string, string>> = {
  'src/store/tables.ts': 'the row types of all tables',
};

const linesOf = (file: string): number => readFileSync(file, 'utf8').split('\n').length - 1;

test('no file is longer than it can be read in one go, unless it is a table', () => {
  assert.deepEqual(
    SOURCES.filter((file) => linesOf(file) > MOST_LINES),
    Object.keys(TABLES),
  );
});

const MOST_LINES_OF_FUNCTION = 80;
/** Released steps of the schema stay as they are. */
const RELEASED = /^src\/store\/migrations\//;

test('no function is longer than a page', () => {
  const long = SOURCES.filter((file) => !RELEASED.test(file)).flatMap((file) =>
    listFunctions(readFileSync(file, 'utf8'))
      .filter(({ lines }) => lines > MOST_LINES_OF_FUNCTION)
      .map(({ line, lines }) => `${file}:${line} has ${lines}`),
  );
  assert.deepEqual(long, []);
});

test('how long functions are is seen: one of as many lines as may be, and one of more', () => {
  const withLines = (lines: number): string =>
    `export function f(): void {\n${'  g();\n'.repeat(lines - 2)}}\n`;
  for (const lines of [80, 81]) {
    assert.deepEqual(listFunctions(withLines(lines)), [{ line: 1, lines }]);
  }
});

/** Folders of one file that have a reason to be. */
const LONE: Readonly<Record<string, string>> = {};

test('a folder has more than one file or folder in it, or a reason', () => {
  const entries = new Map<string, Set<string>>();
  for (const file of SOURCES) {
    for (let at = file; at.includes('/'); at = dirname(at)) {
      const folder = dirname(at);
      entries.set(folder, (entries.get(folder) ?? new Set()).add(at));
      if (folder === 'src') break;
    }
  }
  const lone = [...entries].filter(([, within]) => within.size === 1).map(([folder]) => folder);
  assert.deepEqual(lone, Object.keys(LONE));
});

const take = (from: string, to: string) => ({ from, to, names: '', typeOnly: false });

test('a circle between folders is seen at any depth, and what only goes down is none', () => {
  const circleOf = (...imports: ReturnType<typeof take>[]): string[] =>
    [...folderGraphs(imports)].flatMap(([folder, graph]) => (findCircle(graph) ? [folder] : []));
  const down = take('src/a/b/x.ts', 'src/a/c/y.ts');
  assert.deepEqual(circleOf(down, take('src/a/c/z.ts', 'src/d/w.ts')), []);
  assert.deepEqual(circleOf(down, take('src/a/c/z.ts', 'src/a/b/w.ts')), ['src/a']);
  assert.deepEqual(
    circleOf(down, take('src/a/c/z.ts', 'src/a/v.ts'), take('src/a/v.ts', 'src/a/b/w.ts')),
    ['src/a'],
    'by a third',
  );
});

test('the map names files and folders that are there', () => {
  const map = readFileSync('docs/architecture.md', 'utf8');
  const named = [...map.matchAll(/`([a-z0-9-]+\/[\w./-]+\.ts|(?:[a-z0-9-]+\/)+)`/g)].map(
    ([, path = '']) => path,
  );
  assert.ok(named.length > 60);
  const rooms = ['', 'src/', 'src/http/', 'src/broker/', 'src/pki/', 'src/access/'];
  const missing = named.filter((path) => !rooms.some((room) => existsSync(room + path)));
  assert.deepEqual(missing, []);
});
