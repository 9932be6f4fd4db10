import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseSinkLine } from '../../sink-line.ts';
import { openFileSink } from './store.ts';

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

test('what is no regular file, or in no directory, is refused and tried again', async (t) => {
  await assert.rejects(openFileSink('/dev/null').put([recordOf(1)]), /not a regular file/);
  const path = newPath(t);
  await assert.rejects(openFileSink(join(path, 'x')).put([recordOf(1)]), { code: 'ENOENT' });
});
