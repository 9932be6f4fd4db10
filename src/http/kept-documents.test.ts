import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heapUsed } from '../../test/support/heap.ts';
import { KeptDocuments } from './kept-documents.ts';

function setUp() {
  const documents = new KeptDocuments(32 << 20);
  const begun: (() => void)[] = [];
  const read = (
    mounts: object,
    acl: object | undefined,
    { form = 'a', party = '192.0.2.1', length = 1 } = {},
  ): Promise<Uint8Array> =>
    documents.read(
      { mounts, acl, form, asker: { party } },
      () => new Promise((resolve) => begun.push(() => resolve(new Uint8Array(length)))),
    );
  return { documents, begun, read };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a document is drawn up once for all who may see the same, and anew after a change', async () => {
  const { begun, read } = setUp();
  const mounts = {};
  const asked = Array.from({ length: 3_000 }, () => read(mounts, undefined));
  await turn();
  assert.equal(begun.length, 1);
  begun[0]?.();
  const [first] = await Promise.all(asked);
  assert.equal(await read(mounts, undefined), first);
  assert.equal(begun.length, 1);
  const changed = read({}, undefined);
  await turn();
  assert.equal(begun.length, 2);
  begun[1]?.();
  assert.notEqual(await changed, first);
});

test('who may see something else gets something else, one after the other', async () => {
  const { begun, read } = setUp();
  const mounts = {};
  const asked = [read(mounts, {}), read(mounts, {}), read(mounts, undefined, { form: 'b' })];
  for (let n = 0; n < asked.length; n++) {
    await turn();
    assert.equal(begun.length, n + 1);
    begun[n]?.();
  }
  assert.equal(new Set(await Promise.all(asked)).size, 3);
});

test('too many of one address are refused, and one of another is not', async () => {
  const { begun, read } = setUp();
  const mounts = {};
  const asked = Array.from({ length: 40 }, () => read(mounts, {}).catch((error: Error) => error));
  const other = read(mounts, {}, { party: '192.0.2.2' });
  for (let at = 0; at < 18; at++) {
    await turn();
    begun[at]?.();
  }
  await other;
  const refused = (await Promise.all(asked)).filter((one) => one instanceof Error);
  assert.equal(refused.length, 40 - 17);
  assert.match(String(refused[0]), /too many documents/);
});

test('who wants what a crowd of another network asked for is not refused with it', async () => {
  const { begun, read } = setUp();
  const mounts = {};
  const common = {};
  const refused = (error: Error): Error => error;
  const crowd = Array.from({ length: 17 }, () => read(mounts, {}).catch(refused));
  const theirs = read(mounts, common).catch(refused);
  const other = read(mounts, common, { party: '198.51.100.1' });
  for (let at = 0; at < 19; at++) {
    await turn();
    begun[at]?.();
  }
  assert.match(String(await theirs), /too many documents/);
  assert.equal((await other).length, 1);
  assert.equal(await read(mounts, common), await other);
  await Promise.all(crowd);
});

test('who wants what a crowd of another network asked for does not wait for it', async () => {
  const { begun, read } = setUp();
  const mounts = {};
  const common = {};
  const crowd = Array.from({ length: 10 }, () => read(mounts, {}));
  const theirs = read(mounts, common);
  const other = read(mounts, common, { party: '198.51.100.1' });
  for (let at = 0; at < 2; at++) {
    await turn();
    begun[at]?.();
  }
  await other;
  for (let at = 2; at < 11; at++) {
    await turn();
    begun[at]?.();
  }
  await Promise.all(crowd);
  assert.equal(await theirs, await other);
  assert.equal(begun.length, 11);
});

test('few are kept, and of large ones fewer', async () => {
  const { documents, begun, read } = setUp();
  const mounts = {};
  const each = async (length: number): Promise<void> => {
    const reading = read(mounts, {}, { length });
    await turn();
    begun.at(-1)?.();
    await reading;
    await turn();
  };
  for (let n = 0; n < 30; n++) await each(1);
  assert.equal(documents.count, 16);
  for (let n = 0; n < 10; n++) await each(8 << 20);
  assert.equal(documents.count, 4);
});

test('who waits for what is drawn up for another network meanwhile is not refused for others', async () => {
  const { begun, read } = setUp();
  const mounts = {};
  const common = {};
  const party = '198.51.100.1';
  const end = async (at: number): Promise<void> => {
    await turn();
    begun[at]?.();
  };
  // Who has had a turn goes behind, and gives way to, those who have had none.
  const before = read(mounts, {}, { party });
  await end(0);
  const between = [before, read(mounts, {})];
  const theirs = read(mounts, common, { party: '203.0.113.1' });
  const waits = read(mounts, common, { party });
  await end(1);
  await Promise.all(between);
  const others = Array.from({ length: 64 }, (_, at) =>
    read(mounts, {}, { party: `192.1.${at}.1` }),
  );
  for (let at = 2; at <= 66; at++) await end(at);
  await Promise.all(others);
  assert.equal(await waits, await theirs);
});

test('of who may see a document nothing is held with it, nor by what it was drawn up', async () => {
  const documents = new KeptDocuments(32 << 20);
  const mounts = {};
  const viewer = async (form: string): Promise<WeakRef<object>> => {
    const acl = { form };
    const asked = { mounts, acl, form, asker: { party: '192.0.2.1' } };
    await documents.read(asked, async () => Buffer.from(acl.form));
    return new WeakRef(acl);
  };
  const seen = [await viewer('a'), await viewer('b')];
  await turn();
  heapUsed();
  assert.deepEqual(
    seen.map((one) => one.deref()),
    [undefined, undefined],
  );
  assert.equal(documents.count, 2);
});
