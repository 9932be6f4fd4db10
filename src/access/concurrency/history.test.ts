import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DOUBTED, LogInHistory, PROVED, type Rank, UNPROVED } from './history.ts';

const at = (name: string, party: string, network = party) => ({ name, party, network });
const ann = at('ann', 'a1', 'a');
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

type Event = [who: ReturnType<typeof at>, is: 'right' | 'wrong', times?: number];
const wrong = (name: string, party: string, network: string, times = 1): Event => [
  at(name, party, network),
  'wrong',
  times,
];

const cases: [why: string, before: Event[], rank: Rank, passed?: number][] = [
  ['somebody of whom nothing is known', [], UNPROVED],
  ['who logged in from there', [[ann, 'right']], PROVED],
  ['who logged in from another address of the network', [[at('ann', 'a2', 'a'), 'right']], UNPROVED],
  ['another name that logged in from there', [[at('bob', 'a1', 'a'), 'right']], UNPROVED],
  ['a day short of a month later', [[ann, 'right']], PROVED, 29 * DAY],
  ['a month later', [[ann, 'right']], UNPROVED, 30 * DAY],
  ['who mistyped a password four times since', [[ann, 'right'], [ann, 'wrong', 4]], PROVED],
  ['five times: neither is it known that it is the same', [[ann, 'right'], [ann, 'wrong', 5]], DOUBTED],
  ['right between failures', [[ann, 'right'], [ann, 'wrong', 4], [ann, 'right'], [ann, 'wrong', 4]], PROVED],
  ['two failures of the address', [wrong('x', 'a1', 'a', 2)], UNPROVED],
  ['three failures of the address', [wrong('x', 'a1', 'a', 3)], DOUBTED],
  ['three, five minutes ago', [wrong('x', 'a1', 'a', 3)], UNPROVED, 5 * MINUTE],
  ['failures of another address', [wrong('x', 'a2', 'a', 15)], UNPROVED],
  ['too many of the network', [wrong('x', 'a2', 'a', 16)], DOUBTED],
  ['too many of another network', [wrong('x', 'b1', 'b', 100)], UNPROVED],
  ['who logged in, among others of the same address', [[ann, 'right'], wrong('x', 'a1', 'a', 100)], PROVED],
]; // biome-ignore format: one table

for (const [why, before, rank, passed = 0] of cases) {
  test(`in which turn passwords are checked: ${why}`, () => {
    const history = new LogInHistory();
    for (const [who, is, times = 1] of before) {
      for (let n = 0; n < times; n++) {
        if (is === 'right') history.noteRight(who, 0);
        else history.noteWrong(who, 0);
      }
    }
    assert.equal(history.rank(ann, passed), rank);
  });
}

test('a clock that is set back makes nothing worse', () => {
  const history = new LogInHistory();
  history.noteRight(ann, DAY);
  assert.equal(history.rank(ann, 0), PROVED);
  for (let n = 0; n < 2; n++) history.noteWrong(at('x', 'b1', 'b'), DAY);
  assert.equal(history.rank(at('y', 'b1', 'b'), 0), UNPROVED);
});

test('one network does not push out who logged in from others', () => {
  const history = new LogInHistory(64);
  history.noteRight(ann, 0);
  for (let n = 0; n < 1000; n++) history.noteRight(at(`x${n}`, `b${n}`, 'b'), 0);
  assert.equal(history.rank(ann, 0), PROVED);
  assert.equal(history.rank(at('x999', 'b999', 'b'), 0), PROVED);
  assert.equal(history.rank(at('x995', 'b995', 'b'), 0), UNPROVED, 'a sixteenth part and no more');
});

test('what is remembered has an end, the oldest goes first', () => {
  const history = new LogInHistory(64);
  const one = (n: number) => at('x', `${n}`, `${n}`);
  for (let n = 0; n < 65; n++) history.noteRight(one(n), 0);
  const ranks = [0, 1, 64].map((n) => history.rank(one(n), 0));
  assert.deepEqual(ranks, [UNPROVED, PROVED, PROVED]);
  for (let n = 0; n < 65; n++) {
    for (let times = 0; times < 3; times++) history.noteWrong(at('y', `f${n}`, `g${n}`), 0);
  }
  const doubts = [0, 1, 64].map((n) => history.rank(at('y', `f${n}`, `g${n}`), 0));
  assert.deepEqual(doubts, [UNPROVED, DOUBTED, DOUBTED]);
});
