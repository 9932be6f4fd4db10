import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { recordFrom } from '../../test/support/caller-record.ts';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import { SERVER_MOUNT } from '../access/system-caller.ts';
import { Failure } from '../core/failure.ts';
import { SharedTexts } from '../core/shared-texts.ts';
import { createTrail } from './operations.ts';

const END = { status: 'done' as const };
const requestOf = (text: string): never =>
  ({
    request_id: 'id',
    record: { ...recordFrom(''), route: 'r', operation: 'read', path: text },
    mount: SERVER_MOUNT,
  }) as never;

/** A trail above a store that takes what it is given once `write` is called. */
function trailOf(hash = (secret: string): string => secret) {
  const held: (() => void)[] = [];
  const commit = () => new Promise<void>((resolve) => held.push(resolve));
  const trail = createTrail({
    store: { commit } as never,
    hash,
    now: () => 0,
    wait_for_reads: false,
    onError: () => {},
  });
  return {
    trail,
    write: () => {
      for (const resolve of held.splice(0)) resolve();
    },
  };
}

for (const [why, count, isHeldUp] of [
  ['32 million characters of them', 32, true],
  ['some less', 31, false],
] as const) {
  test(`while long records wait to be written, who asks next waits for that: ${why}`, async () => {
    const { trail, write } = trailOf();
    const text = 'p '.repeat(1 << 19);
    for (let at = 0; at < count; at++) await trail.note(requestOf(text), END);
    let isNoted = false;
    const noted = trail.note(requestOf('short'), END).then(() => {
      isNoted = true;
    });
    await turn();
    assert.equal(isNoted, !isHeldUp);
    write();
    await noted;
    const closed = trail.close();
    await turn();
    write();
    await closed;
  });
}

test('room that records took is free again once they are written', async () => {
  const { trail, write } = trailOf();
  const text = 'p '.repeat(1 << 19);
  for (let round = 0; round < 3; round++) {
    for (let at = 0; at < 30; at++) await trail.note(requestOf(text), END);
    const closed = trail.close();
    await turn();
    write();
    await closed;
  }
});

for (const [count, why] of [
  [256, 'as many as are written at once'],
  [255, 'one less, which are written when it is time'],
] as const) {
  for (const isRefused of [false, true]) {
    const end = isRefused ? 'is refused when it cannot be' : 'goes on';
    test(`whoever waits until a record is durable ${end}: ${count}, ${why}`, async () => {
      let isBroken = isRefused;
      const trail = createTrail({
        store: { commit: async () => isBroken && Promise.reject(new Error('broken')) } as never,
        hash: (secret) => secret,
        now: () => 0,
        wait_for_reads: true,
        onError: () => {},
      });
      const noted = Array.from({ length: count }, () => trail.note(requestOf('short'), END));
      const ends = await Promise.allSettled(noted);
      const wanted = isRefused ? 'rejected' : 'fulfilled';
      assert.deepEqual(new Set(ends.map(({ status }) => status)), new Set([wanted]));
      isBroken = false;
      await trail.close();
    });
  }
}

const TOKEN = `hvs.${'Ab'.repeat(12)}`;
const KEY = `-----BEGIN PRIVATE KEY-----${'Ab'.repeat(32)}`;

test('of a secret that an unauthenticated record is too long for there is no part', async () => {
  const records: string[] = [];
  const commit = async (writes: { audit: string }[]) => {
    records.push(...writes.map(({ audit }) => audit));
  };
  const trail = createTrail({
    store: { commit } as never,
    hash: () => '#',
    now: () => (at += 10_000),
    wait_for_reads: false,
    onError: () => {},
  });
  let at = 0;
  const rest = '/x'.repeat(2000);
  for (const secret of [TOKEN, KEY, `at_1234567890_s1${'Ab'.repeat(12)}`]) {
    for (let before = 200; before < 256; before += 1) {
      const text = `${'y/'.repeat(before / 2)}${before % 2 ? 'z' : ''}${secret}${rest}`;
      const request: object = requestOf(text);
      trail.refuse({ ...request, request_id: text } as never, { status: 'refused', error: text });
    }
  }
  await trail.close();
  assert.ok(records.length >= 3 * 56, `${records.length} records`);
  for (const record of records) {
    const { request, response } = JSON.parse(record);
    for (const text of [request.path, response.error]) assert.doesNotMatch(text, /Ab/);
  }
});

const B = '-----BEGIN PRIVATE KEY-----';
const items = (item: (at: string) => string, count = 10_000): string[] =>
  Array.from({ length: count }, (_, at) => item(String(at).padStart(10, '0')));

/** About a megabyte each, as endpoints take them. */
const LONG: [what: string, request: object][] = [
  ['letters with blanks', { list: [B, ...items(() => 'A '.repeat(50))] }],
  ['letters with blanks that are no key', { list: [B, 'a: b', ...items(() => 'A '.repeat(50))] }],
  ['one text of letters with blanks', { text: B + 'A '.repeat(1 << 19) }],
  ['one text of letters with line ends', { text: B + 'A\n'.repeat(1 << 18) }],
  ['one text that is escaped', { text: B + '%41'.repeat(350_000) }],
  ['header lines', { list: [B, ...items(() => `a: ${'b '.repeat(48)}`)] }],
  ['words of keys', { list: items(() => `${B}A A A`.repeat(3)) }],
  ['names like tokens', { list: items((at) => `at_${at}_s1abcdefgh.at_${at}_s1bcdefghi`) }],
  ['near names', { list: [...items(() => 'at_'.repeat(30)), TOKEN] }],
  ['tokens', { list: items((at) => `hvs.${'A'.repeat(60)}${at}`) }],
  ['near tokens', { list: [...items(() => `hvs.${'A'.repeat(19)}.`.repeat(4)), TOKEN] }],
  ['long runs', { list: items((at) => `${'A'.repeat(199)}.${at}`, 5_000) }],
  ['URLs', { list: items(() => '://a:b@'.repeat(13)) }],
  ['parts of signed tokens', { list: items(() => 'eyJhbGciOiJIUzI1NiJ9.'.repeat(4)) }],
  ['near hashes', { list: items(() => `hmac-sha256:${'a'.repeat(63)}.`) }],
  ['short texts', { list: items(() => 'a', 100_000) }],
  ['lists in lists', { list: items(() => 'a', 100_000).map((text) => [[text]]) }],
  ['names of fields', { map: Object.fromEntries(items((at) => at).map((name) => [name, ''])) }],
];

for (const [what, sent] of LONG) {
  test(`a record of a megabyte takes no long turn: ${what}`, async () => {
    const { trail } = trailOf((secret) => createHmac('sha256', 'k').update(secret).digest('hex'));
    const whole: { record: object } = requestOf('x');
    const request = { ...whole, record: { ...whole.record, request: sent } };
    await spendsAtMost(60, () => {
      try {
        trail.entryOf(request as never);
      } catch (error) {
        assert.match(String(error), /private key/);
      }
    });
    await spendsAtMost(60, () => {
      trail.note(request as never, { status: 'refused', error: 'x' });
    });
  });
}

/** A trail whose records another one writes. */
function handedOn(commit: (records: string[]) => Promise<void>) {
  const optionsOf = (write: (records: string[]) => Promise<void>) => ({
    store: { commit: (set: { audit: string }[]) => write(set.map(({ audit }) => audit)) } as never,
    hash: (secret: string) => secret,
    now: () => 0,
    wait_for_reads: false,
    onError: () => {},
  });
  const writer = createTrail(optionsOf(commit));
  const trail = createTrail(optionsOf(() => Promise.reject(new Error('it is not for this one'))));
  const records = new SharedTexts();
  const takeLast = writer.collect(records);
  trail.handOn({
    records: new SharedTexts(records.shared),
    tell: () => writer.expect(),
    recover: () => writer.recover(),
  });
  return { trail, writer, takeLast };
}

test('what a thread hands on is written once, also when that has ended', async () => {
  const written: string[] = [];
  const { trail, writer, takeLast } = handedOn(async (records) => void written.push(...records));
  await trail.note(requestOf('first'), END);
  trail.refuse(requestOf('refused'), { status: 'refused' });
  await writer.close();
  assert.equal(written.length, 2);
  await trail.note(requestOf('last'), END);
  takeLast();
  await writer.close();
  assert.deepEqual(
    written.map((record) => JSON.parse(record).request.path),
    ['first', 'refused', 'last'],
  );
});

test('while another thread cannot write them nothing is answered that it would have to write', async () => {
  let isBroken = true;
  const written: string[] = [];
  const { trail, writer } = handedOn(async (records) => {
    if (isBroken) throw new Failure('unavailable', 'nothing can be written');
    written.push(...records);
  });
  for (let round = 0; round < 4; round += 1) {
    await trail.note(requestOf(`${round}`), END);
    await writer.close().catch(() => {});
  }
  await assert.rejects(trail.note(requestOf('refused'), END), { kind: 'unavailable' });
  isBroken = false;
  await trail.note(requestOf('answered'), END);
  await writer.close();
  assert.deepEqual(
    written.map((record) => JSON.parse(record).request.path),
    ['0', '1', '2', '3', 'answered'],
  );
});

test('what is not collected while there is no room for it is collected after that, though nobody asks', async () => {
  const written: string[] = [];
  const held: (() => void)[] = [];
  const { trail, writer } = handedOn(async (records) => {
    await new Promise<void>((resolve) => held.push(resolve));
    written.push(...records);
  });
  const text = 'p '.repeat(1 << 19);
  for (let at = 0; at < 32; at += 1) await writer.note(requestOf(text), END);
  await trail.note(requestOf('left'), END);
  const isThere = () => written.some((record) => JSON.parse(record).request.path === 'left');
  while (held.length === 0) await turn();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(held.length, 1);
  for (; !isThere(); await turn()) for (const resolve of held.splice(0)) resolve();
});
