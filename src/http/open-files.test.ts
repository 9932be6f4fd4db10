import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONNECTION_DEFAULTS } from '../config/connections.ts';
import { fitConnections, parseProcLimits, readOpenFileLimit } from './open-files.ts';

const fits: [
  open_files: number | undefined,
  set: [all: number, each: number],
  fitted: [all: number, each: number],
  why: string,
][] = [
  [undefined, [8_192, 1_024], [8_192, 1_024], 'no limit leaves what is set'],
  [524_288, [8_192, 1_024], [8_192, 1_024], 'so does one that is far off'],
  [8_448, [8_192, 1_024], [8_192, 1_024], 'and one that is just enough'],
  [8_447, [8_192, 1_024], [8_191, 1_024], 'of one file less there is one connection less'],
  [1_024, [8_192, 1_024], [768, 384], 'of few, an address has half'],
  [1_024, [8_192, 100], [768, 100], 'and no more than is set'],
  [1_024, [500, 500], [500, 500], 'what is set is kept where it fits'],
  [256, [8_192, 1_024], [128, 64], 'of very few, the process keeps half for itself'],
  [128, [8_192, 1_024], [64, 32], 'and of the fewest'],
];
for (const [open_files, [all, each], fitted, why] of fits) {
  test(`${open_files} open files, ${all} connections and ${each} an address: ${why}`, () => {
    const set = {
      ...CONNECTION_DEFAULTS,
      max_connections: all,
      max_connections_per_address: each,
    };
    const { max_connections, max_connections_per_address } = fitConnections(set, open_files);
    assert.deepEqual([max_connections, max_connections_per_address], fitted);
  });
}

for (const [open_files, threads, connections] of [
  [8_448, 1, 8_192],
  [8_448, 2, 8_168],
  [8_448 + 24, 2, 8_192],
  [1_024, 4, 696],
  [1_024, 12, 512],
] as const) {
  test(`${threads} threads with ${open_files} open files leave ${connections} connections`, () => {
    const fitted = fitConnections(CONNECTION_DEFAULTS, open_files, { threads });
    assert.equal(fitted.max_connections, connections);
  });
}

test('with fewer files than the server itself needs it does not start', () => {
  assert.throws(() => fitConnections(CONNECTION_DEFAULTS, 127), /127 files open, and needs 128/);
});

const tables: [text: string, limit: number | undefined][] = [
  ['Max open files            1024                 4096                 files     \n', 1_024],
  ['Max cpu time  1  2  s\nMax open files            64   64   files\n', 64],
  ['Max open files            unlimited            unlimited            files     \n', undefined],
  ['Max file size             1024                 4096                 bytes     \n', undefined],
  ['', undefined],
];
for (const [text, limit] of tables) {
  test(`"${text.trim()}" says ${limit}`, () => assert.equal(parseProcLimits(text), limit));
}

test('a report of the process says what its table does', () => {
  const { userLimits }: { userLimits?: { open_files: { soft: unknown } } } =
    process.report.getReport();
  const soft = userLimits?.open_files.soft;
  assert.equal(readOpenFileLimit(), typeof soft === 'number' ? soft : undefined);
});
