import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedBytes } from '../../../core/fairness/shared-bytes.ts';
import { VaultFault } from './answer.ts';
import { type AnswerBounds, ComingAnswer, type Said, SECRET, SHORT } from './coming.ts';
import { REFUSAL } from './words.ts';

const MADE = '"lease_id":"a/b","lease_duration":60,"renewable":true';
const KIB = 1_024;

const ofBytes = (bytes: number): string => `{${MADE},"data":"${'x'.repeat(bytes)}"}`.slice(-bytes);
const ofText = (bytes: number): string => {
  const bare = `{${MADE},"data":""}`;
  return bare.replace('""', `"${'x'.repeat(bytes - bare.length)}"`);
};
/** Besides the lease's three. */
const members = (count: number): string =>
  `{${MADE},${Array.from({ length: count - 3 }, (_, at) => `"${at.toString(36)}":1`).join()}}`;
const elements = (count: number): string =>
  `{${MADE},"data":[${Array.from({ length: count - 3 }, () => '1').join()}]}`;
const nested = (levels: number): string =>
  `{${MADE},"data":${'['.repeat(levels - 4)}${']'.repeat(levels - 4)}}`;

function newAnswer(status: number, bounds: AnswerBounds, total = 32 << 20) {
  const room = new SharedBytes({ total, each: total });
  const answer = new ComingAnswer(
    status,
    bounds,
    room.hold('a', () => {}),
  );
  return { room, answer };
}

/** What comes of a text in pieces of a network. */
function read(answer: ComingAnswer, text: string): Said | string {
  const bytes = Buffer.from(text);
  try {
    for (let at = 0; at < bytes.length; at += 16 * KIB) {
      if (answer.add(bytes.subarray(at, at + 16 * KIB))) break;
    }
    return answer.finish();
  } catch (error) {
    assert.ok(error instanceof VaultFault);
    return `${error.kind}: ${error.message}`;
  }
}

const TOO_LONG = /^malformed: the answer of the Vault server is too long$/;
const TOO_MANY = /^malformed: the answer of the Vault server has more than (1000|10000) values$/;

const answers: [what: string, bounds: AnswerBounds, text: string, refused?: RegExp][] = [
  ['nothing', SHORT, ''],
  ['64 KiB', SHORT, ofText(64 * KIB)],
  ['64 KiB and a byte', SHORT, ofText(64 * KIB + 1), TOO_LONG],
  ['1,000 members', SHORT, members(1_000)],
  ['1,001 members', SHORT, members(1_001), TOO_MANY],
  ['1,000 elements', SHORT, elements(999)],
  ['1,001 elements', SHORT, elements(1_000), TOO_MANY],
  ['lists in a thousand lists', SHORT, nested(1_000)],
  ['one more', SHORT, nested(1_001), TOO_MANY],
  ['a thousand in a text', SHORT, JSON.stringify({ a: members(1_001) })],
  ['a secret of 1 MiB', SECRET, ofText(1 << 20)],
  ['one of a byte more', SECRET, ofText((1 << 20) + 1), TOO_LONG],
  ['a secret of 10,000 members', SECRET, members(10_000)],
  ['one of 10,001', SECRET, members(10_001), TOO_MANY],
  ['small objects without end', SECRET, `{"a":[${'{"a":1},'.repeat(100_000)}`, TOO_MANY],
];
for (const [what, bounds, text, refused] of answers) {
  const longest = bounds === SECRET ? 'a secret' : 'an answer';
  test(`${what} ${refused ? 'is too much for' : 'may be'} ${longest}`, () => {
    const { answer } = newAnswer(200, bounds);
    const said = read(answer, text);
    if (refused) assert.match(String(said), refused);
    else assert.equal(typeof said === 'string' ? said : said.text.length, text.length);
    const names = text.startsWith(`{${MADE}`);
    assert.equal(answer.findMade()?.lease_id, names ? 'a/b' : undefined);
  });
}

const refusals: [what: string, text: string, kept: number][] = [
  ['a short one', '{"errors":["no"]}', 17],
  ['as much as is looked at', ofBytes(REFUSAL), REFUSAL],
  ['a byte more', ofBytes(REFUSAL + 1), REFUSAL],
  ['a megabyte', ofBytes(1 << 20), REFUSAL],
  ['many values', members(2_000), REFUSAL],
];
for (const [what, text, kept] of refusals) {
  test(`of a refusal, ${what}, are ${kept} bytes taken, and no lease`, () => {
    const { room, answer } = newAnswer(400, SECRET);
    const said = read(answer, text);
    assert.deepEqual(said, { status: 400, text: text.slice(0, kept), weight: 0 });
    assert.equal(answer.findMade(), undefined);
    assert.ok(room.held <= 2 * REFUSAL);
  });
}

test('a refusal is waited for until there is as much of it as is looked at', () => {
  const { answer } = newAnswer(500, SHORT);
  assert.equal(answer.add(Buffer.alloc(REFUSAL)), false);
  assert.equal(answer.add(Buffer.alloc(1)), true);
});

test('what an answer takes once it is parsed is told before it is', () => {
  for (const count of [100, 10_000]) {
    const said = read(newAnswer(200, SECRET).answer, members(count));
    assert.ok(typeof said !== 'string');
    assert.equal(said.weight, count * 256);
  }
});

test('an answer for which there is no room is too long, and its lease is known', () => {
  const { answer } = newAnswer(200, SECRET, 1 << 17);
  assert.match(String(read(answer, ofText(1 << 18))), TOO_LONG);
  assert.equal(answer.findMade()?.lease_id, 'a/b');
});
