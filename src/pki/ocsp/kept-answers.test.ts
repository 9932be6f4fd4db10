import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type KeptAnswer, KeptAnswers } from './kept-answers.ts';

const NOW = 1_800_000_000;
const HOUR = 3600;
const answer: KeptAnswer = {
  serial: '01',
  revocation: undefined,
  writes: 0,
  signed_at: NOW,
  until: undefined,
  body: Uint8Array.of(1),
  tag: 'one',
};
const ROOM = 32 << 10;
const alone = () => new KeptAnswers(new SharedArrayBuffer(ROOM), { of: 1, own: 0 });
const request = (first: number, length = 80): Uint8Array => {
  const bytes = new Uint8Array(length);
  new DataView(bytes.buffer).setUint32(0, first);
  return bytes;
};
const countOf = (kept: KeptAnswers, upTo: number): number => {
  let count = 0;
  for (let first = 0; first < upTo; first++) if (kept.find('m', request(first), NOW)) count += 1;
  return count;
};

test('an answer is found for ten seconds by the same bytes, in the same mount', () => {
  const kept = alone();
  kept.keep('m', request(1), answer, HOUR);
  const cases: [what: string, found: boolean, KeptAnswer | undefined][] = [
    ['at once', true, kept.find('m', request(1), NOW)],
    ['nine seconds later', true, kept.find('m', request(1), NOW + 9)],
    ['of another mount', false, kept.find('n', request(1), NOW)],
    ['of another request', false, kept.find('m', request(2), NOW)],
    ['of a longer one', false, kept.find('m', request(1, 81), NOW)],
    ['ten seconds later', false, kept.find('m', request(1), NOW + 10)],
  ];
  for (const [what, found, known] of cases) assert.equal(known !== undefined, found, what);
});

for (const [what, more] of [
  ['of a good certificate', {}],
  ['of a revoked one', { revocation: { issuer_id: 'i', revoked_at_ms: 5, reason: 1 } }],
  ['that names its end', { until: NOW + HOUR }],
  ['that is kept for longer', { keeps: 400 }],
] as const) {
  test(`an answer is found as it was kept: one ${what}`, () => {
    const kept = alone();
    const one = { ...answer, ...more, writes: 7, body: new Uint8Array(300).fill(9) };
    kept.keep('m', request(1), one, HOUR);
    const found = kept.find('m', request(1), NOW + 1);
    assert.ok(found?.at);
    const { at: _, ...told } = found;
    assert.deepEqual({ ...told, body: new Uint8Array(found.body) }, one);
  });
}

test('an answer that ends sooner is not found once it has: its responder has ended, too', () => {
  const kept = alone();
  kept.keep('m', request(1), { ...answer, until: NOW + 5 }, HOUR);
  assert.ok(kept.find('m', request(1), NOW + 4));
  assert.equal(kept.find('m', request(1), NOW + 5), undefined);
});

test('an answer from the future is not found: the clock was set back', () => {
  const kept = alone();
  kept.keep('m', request(1), answer, HOUR);
  assert.equal(kept.find('m', request(1), NOW - 1), undefined);
});

test('answers that are soon past, or never said to be, and those to long requests are not kept', () => {
  const kept = alone();
  kept.keep('m', request(1), answer, 0);
  kept.keep('m', request(1), answer, 999);
  kept.keep('m', request(1, 257), answer, HOUR);
  assert.equal(kept.find('m', request(1), NOW), undefined);
  assert.equal(kept.find('m', request(1, 257), NOW), undefined);
  kept.keep('m', request(1), answer, 1000);
  kept.keep('m', request(1, 256), answer, HOUR);
  assert.ok(kept.find('m', request(1), NOW));
  assert.ok(kept.find('m', request(1, 256), NOW));
});

test('no more are kept than there is room for: the one that was signed first goes', () => {
  const kept = alone();
  for (let first = 0; first < 1000; first++) {
    kept.keep('m', request(first), answer, HOUR);
    assert.ok(kept.find('m', request(first), NOW), 'the last one is there');
  }
  const count = countOf(kept, 1000);
  assert.ok(count > 20 && count < ROOM / 256, `${count}`);
  assert.equal(kept.find('m', request(1000 - ROOM / 256), NOW), undefined);
});

test('what is long for the room is not kept, and takes nothing else away', () => {
  const kept = alone();
  for (let first = 0; first < 10; first++) kept.keep('m', request(first), answer, HOUR);
  kept.keep('m', request(10), { ...answer, body: new Uint8Array(ROOM / 4) }, HOUR);
  assert.equal(countOf(kept, 11), 10);
});

test('what is signed anew takes the place of what was there', () => {
  const kept = alone();
  for (const tag of ['one', 'two']) kept.keep('m', request(1), { ...answer, tag }, HOUR);
  assert.equal(kept.find('m', request(1), NOW)?.tag, 'two');
});

test('each part finds what the others keep, and its own first; a number is set by whose it is', () => {
  const shared = new SharedArrayBuffer(3 * ROOM);
  const [one, other, third] = [0, 1, 2].map((own) => new KeptAnswers(shared, { of: 3, own }));
  assert.ok(one && other && third);
  one.keep('m', request(1), { ...answer, tag: 'one' }, HOUR);
  for (const kept of [one, other, third]) {
    const found = kept.find('m', request(1), NOW);
    assert.equal(found?.tag, 'one');
    assert.equal(found.at !== undefined, kept === one);
    kept.confirm(found, 5);
    assert.equal(kept.find('m', request(1), NOW)?.writes, 5);
  }
  other.keep('m', request(1), { ...answer, tag: 'other' }, HOUR);
  assert.equal(one.find('m', request(1), NOW)?.tag, 'one');
  assert.equal(other.find('m', request(1), NOW)?.tag, 'other');
  assert.ok(third.find('m', request(1), NOW));
  const heir = new KeptAnswers(shared, { of: 3, own: 0 });
  assert.equal(
    heir.find('m', request(1), NOW)?.tag,
    'one',
    'who takes a place over has what is there',
  );
});
