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
const ROOM = 10_000;
const request = (first: number, length = 80): Uint8Array => new Uint8Array(length).fill(first);

test('an answer is found for ten seconds by the same bytes, in the same mount', () => {
  const kept = new KeptAnswers(ROOM);
  kept.keep('m', request(1), answer, HOUR);
  const cases: [what: string, found: boolean, KeptAnswer | undefined][] = [
    ['at once', true, kept.find('m', request(1), NOW)],
    ['nine seconds later', true, kept.find('m', request(1), NOW + 9)],
    ['of another mount', false, kept.find('n', request(1), NOW)],
    ['of another request', false, kept.find('m', request(2), NOW)],
    ['ten seconds later', false, kept.find('m', request(1), NOW + 10)],
  ];
  for (const [what, found, known] of cases) assert.equal(known !== undefined, found, what);
});

test('an answer from the future is not found: the clock was set back', () => {
  const kept = new KeptAnswers(ROOM);
  kept.keep('m', request(1), answer, HOUR);
  assert.equal(kept.find('m', request(1), NOW - 1), undefined);
});

test('answers that are soon past, or never said to be, and those to long requests are not kept', () => {
  const kept = new KeptAnswers(ROOM);
  kept.keep('m', request(1), answer, 0);
  kept.keep('m', request(1), answer, 999);
  kept.keep('m', request(1, 257), answer, HOUR);
  assert.equal(kept.size, 0);
  kept.keep('m', request(1), answer, 1000);
  kept.keep('m', request(1, 256), answer, HOUR);
  assert.equal(kept.size, 2);
});

test('no more are kept than there is room for: the one that was signed first goes', () => {
  const kept = new KeptAnswers(1500);
  for (const first of [1, 2, 1, 3]) kept.keep('m', request(first), answer, HOUR);
  assert.equal(kept.size, 2);
  assert.equal(kept.find('m', request(2), NOW), undefined);
  assert.ok(kept.find('m', request(1), NOW));
});

test('room is counted in bytes, of answers and of requests, and comes back with what goes', () => {
  const kept = new KeptAnswers(ROOM);
  const long = { ...answer, body: new Uint8Array(4000) };
  for (let first = 0; first < 9; first++) kept.keep('m', request(first), long, HOUR);
  assert.equal(kept.size, 2);
  kept.keep('m', request(9), { ...answer, body: new Uint8Array(ROOM) }, HOUR);
  assert.equal(kept.size, 0, 'what is longer than all of it is not kept');
  for (let first = 0; first < 9; first++) kept.keep('m', request(first), long, HOUR);
  for (let first = 0; first < 9; first++) kept.find('m', request(first), NOW + 10);
  for (let first = 0; first < 9; first++) kept.keep('m', request(first), answer, HOUR);
  assert.equal(kept.size, 9);
});
