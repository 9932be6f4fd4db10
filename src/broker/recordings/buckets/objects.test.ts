import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { S3_KEYS, startS3Server } from '../../../../test/support/s3-server.ts';
import { localObjects, requireFolder } from './local.client.ts';
import { type ObjectStore, StorageFault } from './objects.ts';
import { s3Objects } from './s3.client.ts';

const ANYWHERE = {
  reach: { allow_loopback: true, allowed_networks: [], denied_networks: [] },
  listening: [],
};
const server = await startS3Server('recordings', 'eu-north-1');
after(() => server.close());
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-objects-'));

const bucket = {
  endpoint: server.url,
  region: 'eu-north-1',
  bucket_name: 'recordings',
  prefix: 'a/b/',
  ...S3_KEYS,
};

async function readAll(store: ObjectStore, name: string, pieces: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of store.read(name, pieces)) parts.push(part);
  return Buffer.concat(parts);
}

const stores: [name: string, store: ObjectStore][] = [
  ['a folder', localObjects(folder)],
  ['an S3 server', s3Objects(bucket, ANYWHERE)],
];

for (const [what, store] of stores) {
  test(`${what} keeps what is appended, in its order, until it is removed`, async () => {
    const pieces = [randomBytes(70_000), randomBytes(10), randomBytes(0), randomBytes(300)];
    for (const [at, piece] of pieces.entries()) await store.append('sr_1/chr_1', at, piece);
    assert.deepEqual(await readAll(store, 'sr_1/chr_1', 4), Buffer.concat(pieces));
    await store.append('sr_1/chr_2', 0, Buffer.from('another'));
    await store.remove('sr_1/chr_1', 5);
    await store.remove('sr_1/chr_1', 5);
    await assert.rejects(readAll(store, 'sr_1/chr_1', 1), StorageFault);
    assert.equal(String(await readAll(store, 'sr_1/chr_2', 1)), 'another');
    await store.remove('sr_1/chr_2', 1);
    await store.removeFolder('sr_1');
    assert.ok(!existsSync(join(folder, 'sr_1')));
  });
}

test('files of a folder are for nobody else, and one that is there is not written over', async () => {
  const store = localObjects(folder);
  await store.append('sr_2/chr_1', 0, Buffer.from('first'));
  const path = join(folder, 'sr_2', 'chr_1');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(join(folder, 'sr_2')).mode & 0o777, 0o700);
  await assert.rejects(store.append('sr_2/chr_1', 0, Buffer.from('second')), /EEXIST/);
  assert.equal(readFileSync(path, 'utf8'), 'first');
});

test('a file that is gone, or has become a link, takes no more', async () => {
  const store = localObjects(join(folder, 'deep', 'er'));
  await store.append('sr_5/chr_1', 0, Buffer.from('first'));
  const path = join(folder, 'deep', 'er', 'sr_5', 'chr_1');
  await store.append('sr_5/chr_1', 1, Buffer.from(' second'));
  assert.equal(readFileSync(path, 'utf8'), 'first second');
  rmSync(path);
  await assert.rejects(store.append('sr_5/chr_1', 2, Buffer.from('third')), /ENOENT/);
  const elsewhere = join(folder, 'elsewhere');
  writeFileSync(elsewhere, '');
  symlinkSync(elsewhere, path);
  await assert.rejects(store.append('sr_5/chr_1', 2, Buffer.from('third')), /ELOOP/);
  assert.equal(readFileSync(elsewhere, 'utf8'), '');
});

test('an S3 server that breaks off amid an object has not given it', async () => {
  const broken = createServer((_request, response) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('half of it', () => response.destroy());
  });
  broken.listen(0, '127.0.0.1');
  await once(broken, 'listening');
  const { port } = broken.address() as AddressInfo;
  const store = s3Objects({ ...bucket, endpoint: `http://127.0.0.1:${port}` }, ANYWHERE);
  await assert.rejects(readAll(store, 'sr_1/chr_1', 1), StorageFault);
  broken.close();
});

/** A server that answers with a head and then, bit by bit, with what is told. */
async function storeThatTells(
  t: TestContext,
  tell: (response: ServerResponse) => void,
): Promise<ObjectStore> {
  const server = createServer((request, response) => {
    request.resume();
    tell(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return s3Objects({ ...bucket, endpoint: `http://127.0.0.1:${port}` }, ANYWHERE);
}

test('an S3 server that gives more than was ever written is not listened to', async (t) => {
  const endless = (response: ServerResponse): void => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(64 << 10)));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  };
  const store = await storeThatTells(t, endless);
  await assert.rejects(readAll(store, 'sr_1/chr_1', 1), (error) => {
    assert.ok(error instanceof StorageFault);
    assert.match(error.message, /longer than any that was written/);
    return true;
  });
});

for (const [what, ask] of [
  ['gives an object', (store: ObjectStore) => readAll(store, 'sr_1/chr_1', 1)],
  ['takes one', (store: ObjectStore) => store.append('sr_1/chr_1', 0, Buffer.from('x'))],
  ['removes one', (store: ObjectStore) => store.remove('sr_1/chr_1', 1)],
] as const) {
  test(`an S3 server that ${what} a byte at a time has a minute for it`, async (t) => {
    const begun = Promise.withResolvers<void>();
    const store = await storeThatTells(t, (response) => {
      response.write('x', () => begun.resolve());
    });
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const asked = assert.rejects(ask(store), (error) => {
      assert.ok(error instanceof StorageFault);
      assert.equal(error.message, 'the S3 server takes too long');
      return true;
    });
    let isOver = false;
    void asked.finally(() => {
      isOver = true;
    });
    await begun.promise;
    t.mock.timers.tick(59_999);
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    assert.equal(isOver, false);
    t.mock.timers.tick(1);
    await asked;
  });
}

test('a folder must be one, and no link to one', async () => {
  await requireFolder(folder);
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const link = join(folder, 'link');
  mkdirSync(join(folder, 'real'));
  symlinkSync(join(folder, 'real'), link);
  for (const path of [file, link, join(folder, 'none')]) {
    await assert.rejects(requireFolder(path), StorageFault);
  }
});

test('objects of a bucket have its prefix', async () => {
  await s3Objects(bucket, ANYWHERE).append('sr_3/chr_1', 12, Buffer.from('x'));
  assert.ok(server.objects.has('a/b/sr_3/chr_1/00000012'));
});

const refused: [why: string, change: Partial<typeof bucket>, told: RegExp][] = [
  ['another secret', { secret_access_key: 'other' }, /403 \(SignatureDoesNotMatch\)/],
  ['another user', { access_key_id: 'other' }, /403 \(SignatureDoesNotMatch\)/],
  ['another region', { region: 'us-east-1' }, /403 \(SignatureDoesNotMatch\)/],
  ['no such bucket', { bucket_name: 'others' }, /404 \(NoSuchBucket\)/],
  ['nobody listens', { endpoint: 'http://127.0.0.1:1' }, /cannot be reached: ECONNREFUSED/],
];
for (const [why, change, told] of refused) {
  test(`a bucket that cannot be used says why, and no secret: ${why}`, async () => {
    const store = s3Objects({ ...bucket, ...change }, ANYWHERE);
    await assert.rejects(store.append('sr_1/x', 0, Buffer.from('x')), (error) => {
      assert.ok(error instanceof StorageFault);
      assert.match(error.message, told);
      assert.doesNotMatch(error.message, /wJalr/);
      return true;
    });
  });
}

test('a server that is not to be reached is not asked', async () => {
  const within = { ...ANYWHERE, reach: { ...ANYWHERE.reach, allow_loopback: false } };
  for (const endpoint of [server.url, server.url.replace('127.0.0.1', 'localhost')]) {
    const store = s3Objects({ ...bucket, endpoint }, within);
    await assert.rejects(store.append('sr_9/x', 0, Buffer.from('x')), /not to be reached/);
  }
  assert.ok(!server.objects.has('a/b/sr_9/x/00000000'));
});
