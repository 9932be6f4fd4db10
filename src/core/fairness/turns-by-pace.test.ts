import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PacePlaces, TurnsByPace } from './turns-by-pace.ts';

const ROOM = { waiting: 64, waiting_each: 32 };
const PLACES: PacePlaces = {
  fresh: { at_once: 2, at_once_site: 1, ...ROOM },
  quick: { at_once: 1, ...ROOM },
  slow: { at_once: 1, ...ROOM },
  overdue: 2,
  slow_ms: 1_000,
};

/** Others who answer when they are told to, by a clock that is set. */
function openTurns(places: PacePlaces = PLACES) {
  let now = 0;
  const timers = new Set<{ at: number; then: () => void }>();
  const clock = {
    now: () => now,
    after(ms: number, then: () => void) {
      const timer = { at: now + ms, then };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
  };
  const turns = new TurnsByPace(places, () => new Error('no place'), clock);
  const running = new Map<string, PromiseWithResolvers<string>>();
  const answers: string[] = [];
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const ask = async (whom: string, party: string, blamed = party): Promise<void> => {
    const answer = Promise.withResolvers<string>();
    const work = () => {
      running.set(whom, answer);
      return answer.promise;
    };
    turns.take(whom, { party, blamed }, work).then(
      (said) => answers.push(said),
      (error: Error) => answers.push(error.message),
    );
    await settle();
  };
  const wait = async (ms: number): Promise<void> => {
    now += ms;
    for (const timer of timers) {
      if (timer.at > now) continue;
      timers.delete(timer);
      timer.then();
    }
    await settle();
  };
  const end = async (whom: string): Promise<void> => {
    running.get(whom)?.resolve(`of ${whom}`);
    running.delete(whom);
    await settle();
  };
  /** Has them answer at once, so that they are known to. */
  const know = async (party: string, ...names: string[]): Promise<void> => {
    for (const whom of names) {
      await ask(whom, party);
      await end(whom);
    }
    answers.length = 0;
  };
  const fail = async (whom: string): Promise<void> => {
    running.get(whom)?.reject(new Error(`not ${whom}`));
    running.delete(whom);
    await settle();
  };
  return { ask, wait, end, fail, know, answers, running: () => [...running.keys()] };
}

/** Two others keep all places of new ones. */
async function openCrowd() {
  const turns = openTurns();
  await turns.know('bad', 'bad-1', 'bad-2', 'bad-3');
  await turns.know('worse', 'worse-1');
  await turns.know('third', 'third-1');
  await turns.know('good', 'good-1', 'good-2');
  await turns.ask('new-1', 'crowd-1');
  await turns.ask('new-2', 'crowd-2');
  return turns;
}

test('a quick one that turns slow gives its place up after a second, and goes on', async () => {
  const { ask, wait, end, answers, running } = await openCrowd();
  await ask('bad-1', 'bad');
  await ask('good-1', 'good');
  await wait(999);
  assert.deepEqual(running(), ['new-1', 'new-2', 'bad-1']);
  await wait(1);
  assert.deepEqual(running(), ['new-1', 'new-2', 'bad-1', 'good-1']);
  await end('bad-1');
  assert.deepEqual(answers, ['of bad-1'], 'its answer is given all the same');
});

test('whose quick ones turned slow has no place among quick ones for a minute, and others have', async () => {
  const { ask, wait, end, running } = await openCrowd();
  await ask('bad-1', 'bad');
  await wait(1_000);
  await ask('bad-2', 'bad');
  await ask('good-1', 'good');
  assert.deepEqual(running(), ['new-1', 'new-2', 'bad-1', 'good-1']);
  await end('good-1');
  await wait(59_999);
  await ask('bad-3', 'bad');
  assert.deepEqual(running(), ['new-1', 'new-2', 'bad-1']);
  await wait(1);
  await ask('bad-3', 'bad');
  assert.deepEqual(running(), ['new-1', 'new-2', 'bad-1', 'bad-3']);
});

test('those that wait for the place when a quick one of the same turns slow do not have it', async () => {
  const { ask, wait, running } = await openCrowd();
  for (const whom of ['bad-1', 'bad-2', 'bad-3']) await ask(whom, 'bad');
  await wait(1_000);
  assert.deepEqual(running(), ['new-1', 'new-2', 'bad-1']);
  await ask('good-1', 'good');
  assert.deepEqual(running(), ['new-1', 'new-2', 'bad-1', 'good-1']);
});

test('one that turns slow has no place of the new ones either, where others wait to ask it', async () => {
  const { ask, wait, end, running } = openTurns();
  for (const party of ['crowd-1', 'crowd-2', 'crowd-3']) await ask(`new of ${party}`, party);
  await ask('new of crowd-1', 'good');
  await wait(1_000);
  await ask('new-4', 'good');
  await end('new of crowd-2');
  assert.deepEqual(running(), ['new of crowd-1', 'new of crowd-3']);
  await end('new of crowd-3');
  assert.deepEqual(running(), ['new of crowd-1', 'new-4']);
});

test('who has a slow new one waits for the place of quick ones, and not for that', async () => {
  const { ask, end, know, running } = openTurns();
  await know('good', 'good-1');
  await know('other', 'other-1');
  await ask('new-1', 'good');
  await ask('other-1', 'other');
  await ask('good-1', 'good');
  assert.deepEqual(running(), ['new-1', 'other-1']);
  await end('other-1');
  assert.deepEqual(running(), ['new-1', 'good-1']);
});

test('whose new ones are slow keeps its place among quick ones', async () => {
  const { ask, wait, running } = await openCrowd();
  await wait(30_000);
  await ask('good-1', 'crowd-1');
  assert.deepEqual(running(), ['new-1', 'new-2', 'good-1']);
});

test('one that turned slow has the place of slow ones from then on, until it is quick again', async () => {
  const { ask, wait, end, know, running } = openTurns();
  await know('bad', 'turned', 'other');
  await ask('turned', 'bad');
  await wait(1_000);
  await ask('turned', 'other');
  await ask('turned', 'good');
  assert.equal(running().length, 1, 'one overdue, one of the slow, one waits');
  await end('turned');
  await end('turned');
  await ask('turned', 'good');
  await ask('other', 'good');
  assert.deepEqual(running(), ['turned', 'other']);
});

test('few go on without a place: the next keeps its own until one of them has ended', async () => {
  const { ask, wait, end, running } = await openCrowd();
  for (const [whom, party] of [
    ['bad-1', 'bad'],
    ['worse-1', 'worse'],
    ['third-1', 'third'],
  ] as const) {
    await ask(whom, party);
    await wait(1_000);
  }
  await ask('good-1', 'good');
  assert.deepEqual(running(), ['new-1', 'new-2', 'bad-1', 'worse-1', 'third-1']);
  await end('bad-1');
  assert.deepEqual(running(), ['new-1', 'new-2', 'worse-1', 'third-1', 'good-1']);
});

test('the place is free once the one that kept it has ended, also when it failed', async () => {
  const { ask, wait, fail, answers, running } = await openCrowd();
  await ask('bad-1', 'bad');
  await ask('good-1', 'good');
  await fail('bad-1');
  assert.deepEqual(running(), ['new-1', 'new-2', 'good-1']);
  await wait(1_000);
  await ask('good-2', 'bad');
  assert.deepEqual(running(), ['new-1', 'new-2', 'good-1', 'good-2'], 'it was in time');
  await fail('good-1');
  assert.deepEqual(answers, ['not bad-1', 'not good-1']);
});

test('who is blamed may be others than those who share places', async () => {
  const { ask, wait, know, running } = openTurns();
  await know('known', 'own-1', 'own-2', 'own-3');
  await ask('new-1', 'crowd-1');
  await ask('new-2', 'crowd-2');
  await ask('own-1', 'own a', 'own');
  await wait(1_000);
  await ask('own-2', 'own b', 'own');
  assert.deepEqual(running(), ['new-1', 'new-2', 'own-1']);
  await ask('own-3', 'own b', 'other');
  assert.deepEqual(running(), ['new-1', 'new-2', 'own-1', 'own-3']);
});

test('of many that were quick, the one that was longest ago is forgotten', async () => {
  const { ask, know, running } = openTurns();
  await know('good', 'first', 'second');
  await know('bad', ...Array.from({ length: 4_095 }, (_, at) => `bad-${at}`));
  for (const whom of ['new-1', 'new-2']) await ask(whom, whom);
  await ask('first', 'good');
  assert.deepEqual(running(), ['new-1', 'new-2']);
  await ask('second', 'good');
  assert.deepEqual(running(), ['new-1', 'new-2', 'second']);
});
