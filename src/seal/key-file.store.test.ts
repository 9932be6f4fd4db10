import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createKeyFile, readKeyFile } from './key-file.store.ts';

const key = new Uint8Array(32).fill(5);

function pathIn(context: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, 'unseal.key');
}

test('a key file reads back as written, and only its owner may touch it', (context) => {
  const path = pathIn(context);
  createKeyFile(path, key);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readKeyFile(path), key);
});

test('a key file that is there is never overwritten', (context) => {
  const path = pathIn(context);
  createKeyFile(path, key);
  assert.throws(() => createKeyFile(path, new Uint8Array(32)), /cannot be written: EEXIST/);
  assert.deepEqual(readKeyFile(path), key);
});

test('no key file is an answer, not a failure', (context) => {
  assert.equal(readKeyFile(pathIn(context)), undefined);
});

const modes: [mode: number, fine: boolean][] = [
  [0o600, true],
  [0o400, true],
  [0o640, false],
  [0o604, false],
  [0o620, false],
  [0o601, false],
  [0o644, false],
];
for (const [mode, fine] of modes) {
  test(`a key file of mode ${mode.toString(8)} is ${fine ? 'read' : 'refused'}`, (context) => {
    const path = pathIn(context);
    createKeyFile(path, key);
    chmodSync(path, mode);
    if (fine) assert.deepEqual(readKeyFile(path), key);
    else assert.throws(() => readKeyFile(path), /has mode 06\d\d: only its owner may have access/);
  });
}

test('the mode that counts is that of the file itself, not of a link to it', (context) => {
  const path = pathIn(context);
  createKeyFile(path, key);
  chmodSync(path, 0o644);
  symlinkSync(path, `${path}.link`);
  assert.throws(() => readKeyFile(`${path}.link`), /has mode 0644/);
});

for (const length of [0, 31, 33, 64]) {
  test(`a key file of ${length} bytes is refused`, (context) => {
    const path = pathIn(context);
    writeFileSync(path, new Uint8Array(length), { mode: 0o600 });
    assert.throws(() => readKeyFile(path), /a key is 32 random bytes/);
  });
}

test('a directory in the place of the key file is refused', (context) => {
  const path = pathIn(context);
  assert.throws(() => readKeyFile(join(path, '..')), /is not a file/);
});
