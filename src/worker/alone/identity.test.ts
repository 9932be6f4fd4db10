import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { newDirectory } from '../../../test/support/node-process.ts';
import { parseWorkerToken } from '../../broker/workers/proof.ts';
import { Failure } from '../../core/failure.ts';
import { ownToken } from './enrolling.client.ts';
import { Identity, newKey } from './identity.ts';

test('a worker makes its key once, in a file that nobody else reads', (t) => {
  const directory = join(newDirectory(t), 'state', 'of', 'it');
  const first = Identity.open(directory);
  const file = join(directory, 'worker.json');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  const again = Identity.open(directory);
  assert.deepEqual(again.public_key, first.public_key);
  assert.deepEqual(again.secret, first.secret);
  assert.equal(again.secret.length, 32);
  assert.equal(again.credentials, undefined);
  assert.equal(again.half_ms, undefined);
});

test('what a server gave is kept, with the key that it was given for', (t) => {
  const directory = newDirectory(t);
  const identity = Identity.open(directory);
  const first = identity.public_key;
  const enrolled = { worker_id: 'w_1', certificate: 'AQID', roots: ['BAUG', 'BwgJ'] };
  identity.keep(enrolled);
  const kept = Identity.open(directory);
  assert.equal(kept.worker_id, 'w_1');
  assert.deepEqual(kept.public_key, first);
  assert.deepEqual(kept.credentials?.roots, [Buffer.from([4, 5, 6]), Buffer.from([7, 8, 9])]);

  const { pem, public_key } = newKey();
  identity.keep(enrolled, pem);
  assert.deepEqual(Identity.open(directory).public_key, public_key);
  assert.equal(statSync(join(directory, 'worker.json')).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(directory), ['worker.json'], 'nothing is left beside it');
});

test('the token that a worker shows has its key and its secret', (t) => {
  const identity = Identity.open(newDirectory(t));
  const token = parseWorkerToken(ownToken(identity));
  assert.deepEqual(token?.public_key, new Uint8Array(identity.public_key.subarray(-32)));
  assert.deepEqual(token?.secret, new Uint8Array(identity.secret));
});

test('what cannot be written changes nothing', (t) => {
  const directory = newDirectory(t);
  const identity = Identity.open(directory);
  const before = identity.public_key;
  mkdirSync(join(directory, 'worker.json.new'));
  const enrolled = { worker_id: 'w_1', certificate: 'AQID', roots: [] };
  assert.throws(() => identity.keep(enrolled, newKey().pem), /cannot be used/);
  assert.deepEqual([identity.public_key, identity.worker_id], [before, undefined]);
});

const BROKEN: [what: string, content: string][] = [
  ['nothing', ''],
  ['half of it', '{"private_key": "-----BEGIN'],
  ['something else', '{"servers": ["127.0.0.1:9201"]}'],
  ['a key more', '{"private_key": "", "secret": "", "other": ""}'],
  ['no secret', '{"private_key": ""}'],
];
for (const [what, content] of BROKEN) {
  test(`a file with ${what} is refused, and left as it is`, (t) => {
    const directory = newDirectory(t);
    const file = join(directory, 'worker.json');
    writeFileSync(file, content);
    assert.throws(
      () => Identity.open(directory),
      (error) => error instanceof Failure && error.message === `state: "${file}" is not a worker’s`,
    );
    assert.equal(readFileSync(file, 'utf8'), content);
  });
}

test('a folder that cannot be used is named', (t) => {
  const directory = newDirectory(t);
  const file = join(directory, 'file');
  writeFileSync(file, '');
  mkdirSync(join(directory, 'taken', 'worker.json'), { recursive: true });
  for (const path of [join(file, 'state'), join(directory, 'taken')]) {
    assert.throws(
      () => Identity.open(path),
      (error) =>
        error instanceof Failure && error.message.startsWith(`state: "${path}" cannot be used: `),
    );
  }
});
