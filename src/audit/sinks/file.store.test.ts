import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { encodeSinkLine, parseSinkLine } from '../sink-line.ts';
import { type OwnChain, openFileSink } from './file.store.ts';

const recordOf = (seq: number) => ({
  node: 'a',
  seq,
  time_ms: 0,
  record: '{}',
  prev_hash: new Uint8Array(32),
  hash: new Uint8Array(32),
});

function newPath(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-sink-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, 'audit.log');
}

const numbersIn = (path: string) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line) => parseSinkLine(line)?.seq ?? []);

test('a file is made for its owner alone, and added to', async (t) => {
  const path = newPath(t);
  const sink = openFileSink(path);
  await sink.put([recordOf(1), recordOf(2)]);
  await sink.put([recordOf(3)]);
  await sink.close();
  assert.deepEqual(numbersIn(path), [1, 2, 3]);
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test('a file that was moved or removed is made anew', async (t) => {
  const path = newPath(t);
  const sink = openFileSink(path);
  await sink.put([recordOf(1)]);
  renameSync(path, `${path}.1`);
  await sink.put([recordOf(2)]);
  rmSync(path);
  await sink.put([recordOf(3)]);
  sink.reopen();
  await sink.put([recordOf(4)]);
  await sink.close();
  assert.deepEqual(numbersIn(`${path}.1`), [1]);
  assert.deepEqual(numbersIn(path), [3, 4]);
});

test('a line that was torn is ended, so that the next is whole', async (t) => {
  const path = newPath(t);
  appendFileSync(path, '{"node":"a","se');
  const sink = openFileSink(path);
  await sink.put([recordOf(1)]);
  await sink.close();
  assert.deepEqual(numbersIn(path), [1]);
});

test('what is in no folder is refused, and taken as soon as the folder is there', async (t) => {
  const path = join(newPath(t), 'below');
  const sink = openFileSink(path);
  await assert.rejects(sink.put([recordOf(1)]), /there is no ".*audit\.log"/);
  mkdirSync(dirname(path));
  await sink.put([recordOf(1)]);
  await sink.close();
  assert.deepEqual(numbersIn(path), [1]);
});

/** What may be in a path's place, or on the way; the sink is given the path that is returned. */
const places: [why: string, make: (path: string) => string, because: RegExp | undefined][] = [
  ['nothing', (path) => path, undefined],
  ['an empty file', (path) => written(path, ''), undefined],
  ['a file of records', (path) => written(path, '{"node":"a","seq":1}\n'), undefined],
  ['a file of keys', (path) => written(path, 'ssh-ed25519 AAAA me\n'), /something else/],
  ['a file of JSON', (path) => written(path, '{"a":1}\n'), /something else/],
  ['a database', (path) => written(path, 'SQLite format 3\0'), /something else/],
  ['a file that all may write', (path) => written(path, '', 0o666), /changed by others/],
  ['a program', (path) => written(path, '', 0o755), /program/],
  ['a file with another name', linked, /more than one name/],
  ['a link to a file', (path) => symlinked(path, written(`${path}.real`, '')), /symbolic link/],
  ['a link to nothing', (path) => symlinked(path, `${path}.none`), /symbolic link/],
  ['a link to standard output', (path) => symlinked(path, '/dev/stdout'), /symbolic link/],
  ['a folder', (path) => inFolder(path, 0o755, ''), /not a regular file/],
  ['a pipe that nobody reads', piped, /not a regular file/],
  ['a device', () => '/dev/null', /folder of the system/],
  ['a setting of the kernel', () => '/proc/sys/kernel/core_pattern', /folder of the system/],
  ['a file of this process', () => '/proc/self/oom_score_adj', /folder of the system|another user/],
  ['a folder for all', (path) => inFolder(path, 0o777, '/a'), /changed by everybody/],
  ['a folder for a group', (path) => inFolder(path, 0o775, '/a'), undefined],
  ['a folder where each keeps their own', (path) => inFolder(path, 0o1777, '/a'), undefined],
  [
    'a link to a folder',
    (path) => `${symlinked(`${path}.link`, inFolder(path, 0o755, ''))}/a`,
    undefined,
  ],
  [
    'a link to a folder within one for all',
    (path) => {
      mkdirSync(dirname(inFolder(path, 0o777, '/below/a')));
      return `${symlinked(`${path}.link`, join(path, 'below'))}/a`;
    },
    /changed by everybody/,
  ],
  ['a link to itself', (path) => `${symlinked(path, path)}/a`, /too many links/],
  ['a link to the system', (path) => `${symlinked(path, '/proc/self')}/x`, /folder of the system/],
  ['a file on the way', (path) => `${written(path, '')}/a`, /is no folder/],
  ['two points', (path) => `${path}/../a`, /"\.\."/],
  ['a very long name', (path) => `${path}${'n'.repeat(300)}`, /at most 255 bytes/],
  ['a line end in the name', (path) => `${path}\n`, /control characters/],
  ['a relative path', () => 'audit.log', /absolute/],
];

function written(path: string, text: string, mode = 0o600): string {
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

function symlinked(path: string, target: string): string {
  symlinkSync(target, path);
  return path;
}

function linked(path: string): string {
  linkSync(written(`${path}.other`, ''), path);
  return path;
}

function inFolder(path: string, mode: number, below: string): string {
  mkdirSync(path);
  chmodSync(path, mode);
  return `${path}${below}`;
}

function piped(path: string): string {
  execFileSync('mkfifo', [path]);
  return path;
}

for (const [why, make, because] of places) {
  test(`a file sink in the place of ${why} is ${because ? 'refused, and nothing written' : 'taken'}`, async (t) => {
    const path = make(newPath(t));
    const before = contentOf(path);
    const sink = openFileSink(path);
    t.after(() => sink.close());
    if (because) {
      await assert.rejects(sink.put([recordOf(7)]), because);
      assert.deepEqual(contentOf(path), before);
    } else {
      await sink.put([recordOf(7)]);
      assert.equal(numbersIn(path).at(-1), 7);
    }
  });
}

/** What a plain file holds; undefined for what is none, or cannot be read. */
function contentOf(path: string): string | undefined {
  try {
    return lstatSync(path).isFile() ? readFileSync(path, 'latin1') : undefined;
  } catch {
    return undefined;
  }
}

test('no records go into a folder that is kept apart, by whatever way', async (t) => {
  const path = newPath(t);
  const data = inFolder(path, 0o755, '');
  mkdirSync(join(data, 'below'));
  symlinkSync(data, `${path}.link`);
  const inside = ['gatehouse.db', 'gatehouse.db-journal', 'new.log', 'below/new.log'];
  const ways = [...inside.map((name) => join(data, name)), `${path}.link/new.log`];
  for (const way of ways) {
    for (const kept_apart of [[data], [`${path}.link`]]) {
      const sink = openFileSink(way, { kept_apart });
      await assert.rejects(sink.put([recordOf(1)]), /data folder/);
    }
  }
  const beside = openFileSink(`${data}2`, { kept_apart: [data] });
  t.after(() => beside.close());
  await beside.put([recordOf(1)]);
  assert.deepEqual(numbersIn(`${data}2`), [1]);
});

test('a name that comes to lead elsewhere is not followed: records wait', async (t) => {
  const path = newPath(t);
  const sink = openFileSink(path);
  await sink.put([recordOf(1)]);
  renameSync(path, `${path}.1`);
  symlinkSync(written(`${path}.other`, ''), path);
  await assert.rejects(sink.put([recordOf(2)]), /symbolic link/);
  sink.reopen();
  await assert.rejects(sink.put([recordOf(2)]), /symbolic link/);
  rmSync(path);
  await sink.put([recordOf(2)]);
  await sink.close();
  assert.deepEqual([numbersIn(`${path}.1`), numbersIn(path)], [[1], [2]]);
  assert.equal(readFileSync(`${path}.other`, 'utf8'), '');
});

/** A chain with these records, as far as a file can tell: by number and hash. */
const chainWith = (...hashes: number[]): OwnChain => ({
  node: 'a',
  has: async ({ seq, hash }) => hashes[seq - 1] === hash[0],
});
const hashed = (seq: number, hash: number, node = 'a') => ({
  ...recordOf(seq),
  node,
  hash: new Uint8Array(32).fill(hash),
});
const linesOf = (...records: ReturnType<typeof hashed>[]): string =>
  records.map((record) => `${encodeSinkLine(record)}\n`).join('');

const ends: [why: string, content: string, isTaken: boolean][] = [
  ['nothing', '', true],
  ['its own records', linesOf(hashed(1, 7), hashed(2, 8)), true],
  ['its own records up to a torn one', `${linesOf(hashed(1, 7))}{"node":"a","seq":2,"pr`, true],
  ['records of which it has not taken note', linesOf(hashed(1, 7), hashed(3, 9)), true],
  ['records of another node alone', linesOf(hashed(1, 1, 'b')), true],
  ['its own, and then another node’s', linesOf(hashed(2, 8), hashed(9, 1, 'b')), true],
  ['another record in the place of its last', linesOf(hashed(1, 7), hashed(2, 66)), false],
  ['a record that it does not have', linesOf(hashed(3, 9), hashed(4, 10)), false],
  ['such a record, torn since', `${linesOf(hashed(4, 10))}{"node":"a"`, false],
  [
    'such a record before many of another node',
    linesOf(hashed(4, 10), ...Array.from({ length: 900 }, (_, at) => hashed(at + 1, 1, 'b'))),
    false,
  ],
];
for (const [why, content, isTaken] of ends) {
  test(`a file that ends with ${why} is ${isTaken ? 'added to' : 'left as it is'}`, async (t) => {
    const path = written(newPath(t), content);
    const sink = openFileSink(path, { chain: chainWith(7, 8, 9) });
    t.after(() => sink.close());
    const put = sink.put([hashed(3, 9)]);
    if (isTaken) {
      await put;
      assert.equal(numbersIn(path).at(-1), 3);
    } else {
      await assert.rejects(put, /none of this server's.*audit\.sinks\[\]\.path/);
      assert.equal(readFileSync(path, 'utf8'), content);
    }
  });
}

test('a file that somebody else adds to meanwhile is looked at again before the next record', async (t) => {
  const path = newPath(t);
  const sink = openFileSink(path, { chain: chainWith(7, 8, 9) });
  t.after(() => sink.close());
  await sink.put([hashed(1, 7)]);
  appendFileSync(path, linesOf(hashed(1, 1, 'b')));
  await sink.put([hashed(2, 8)]);
  appendFileSync(path, linesOf(hashed(3, 66)));
  await assert.rejects(sink.put([hashed(3, 9)]), /none of this server's/);
  await assert.rejects(sink.put([hashed(3, 9)]), /none of this server's/);
  renameSync(path, `${path}.1`);
  await sink.put([hashed(3, 9)]);
  assert.deepEqual(numbersIn(path), [3]);
});

test('a file that is closed while it is opened, or before, is not added to', async (t) => {
  const path = newPath(t);
  const sink = openFileSink(path);
  const putting = assert.rejects(sink.put([recordOf(1)]), { name: 'AbortError' });
  await sink.close();
  await putting;
  await assert.rejects(sink.put([recordOf(2)]), { name: 'AbortError' });
  const next = openFileSink(path);
  await next.put([recordOf(3)]);
  await next.close();
  assert.deepEqual(numbersIn(path), [3]);
});

test('two that add to one file leave whole lines', async (t) => {
  const path = newPath(t);
  const long = (seq: number) => ({
    ...recordOf(seq),
    record: JSON.stringify({ x: 'x'.repeat(1 << 20) }),
  });
  const sinks = [openFileSink(path), openFileSink(path)];
  await Promise.all(sinks.map((sink, at) => sink.put([long(at + 1), long(at + 1)])));
  for (const sink of sinks) await sink.close();
  assert.deepEqual(numbersIn(path), [1, 1, 2, 2]);
  assert.equal(readFileSync(path, 'utf8').trimEnd().split('\n').length, 4);
});
