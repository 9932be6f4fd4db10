import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openTestApp, testCaller, testMount } from '../../../test/support/app.ts';
import { sqlitePlace } from '../../../test/support/engines.ts';
import type { App } from '../../app/app.ts';
import { doForOthers, hearFromOthers, noteEnd, oneForAll } from '../../app/one-for-all.ts';
import type { KeyDescription } from '../../x509/keys.ts';
import { makeKeyInTurn } from './operations.ts';
import { signInTurn } from './signatures.operations.ts';

const SLH_DSA: KeyDescription = { key_type: 'slhdsa-sha2-s', key_bits: 128 };
const RSA: KeyDescription = { key_type: 'rsa', key_bits: 2048 };
const RSA_8192: KeyDescription = { key_type: 'rsa', key_bits: 8192 };

const newApp = async (t: TestContext): Promise<App> => {
  const place = sqlitePlace();
  const { app } = await openTestApp(await place.open());
  t.after(() => place.remove());
  return app;
};

/** One that supervises, and two that answer, in one thread of this process. */
async function newThreads(t: TestContext) {
  const supervisor = await newApp(t);
  const newThread = async (place: number): Promise<App> => {
    const app = await newApp(t);
    Object.assign(oneForAll(app), {
      place,
      ask: (name: string, argument: unknown) =>
        doForOthers(supervisor, name, structuredClone(argument)),
      tell: (name: string, told: unknown) =>
        hearFromOthers(supervisor, name, structuredClone(told)),
    });
    return app;
  };
  return { supervisor, newThread, one: await newThread(1), other: await newThread(2) };
}

const caller = testCaller(testMount({ kind: 'secret', path: 'pki/', type: 'pki' }));

/** Work that begins and does not end before it is let. */
function newWork() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const begun: string[] = [];
  const work = (name: string) => async (): Promise<void> => {
    begun.push(name);
    await promise;
  };
  return { begun, work, end: resolve };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
}

test('of long signatures one is made at a time, whichever threads they are asked of', async (t) => {
  const { supervisor, one, other } = await newThreads(t);
  const { begun, work, end } = newWork();
  const made = [
    signInTurn(one, caller, SLH_DSA, work('one')),
    signInTurn(other, caller, SLH_DSA, work('other')),
    signInTurn(supervisor, caller, SLH_DSA, work('supervisor')),
  ];
  await settle();
  assert.deepEqual(begun, ['one']);
  // Those that are quick go by.
  assert.equal(await signInTurn(other, caller, RSA, async () => 'signed'), 'signed');
  end();
  await Promise.all(made);
  assert.deepEqual(begun, ['one', 'other', 'supervisor']);
});

test('of quick signatures one is made at a time on each thread, and of keys as many on all as by one', async (t) => {
  const { one, other } = await newThreads(t);
  const signatures = newWork();
  const keys = newWork();
  const asked = [one, other, one, other].flatMap((app, number) => [
    signInTurn(app, caller, RSA, signatures.work(app === one ? 'one' : 'other')),
    makeKeyInTurn(app, { party: `${number}` }, keys.work(`${number}`)),
  ]);
  await settle();
  assert.deepEqual(signatures.begun.sort(), ['one', 'other']);
  assert.equal(keys.begun.length, 3);
  signatures.end();
  keys.end();
  await Promise.all(asked);
  assert.equal(signatures.begun.length, 4);
  assert.equal(keys.begun.length, 4);
});

test('of signatures that take some tens of milliseconds two are made at a time, on whatever threads', async (t) => {
  const { one, other } = await newThreads(t);
  const { begun, work, end } = newWork();
  const asked = [one, one, one, other].map((app, number) =>
    signInTurn(app, caller, RSA_8192, work(`${number}`)),
  );
  await settle();
  assert.deepEqual(begun, ['0', '1']);
  end();
  await Promise.all(asked);
});

test('what a thread had or waited for that ends is the next one’s', async (t) => {
  const { supervisor, one, other } = await newThreads(t);
  const { begun, work } = newWork();
  signInTurn(one, caller, SLH_DSA, work('lost')).catch(() => {});
  const waiting = signInTurn(one, caller, SLH_DSA, work('never'));
  const next = signInTurn(other, caller, SLH_DSA, async () => 'signed');
  await settle();
  assert.deepEqual(begun, ['lost']);
  noteEnd(supervisor, 1);
  await assert.rejects(waiting, { kind: 'unavailable' });
  assert.equal(await next, 'signed');
  assert.deepEqual(begun, ['lost']);
});

test('nothing is begun for somebody who has gone, on another thread, too', async (t) => {
  const { one, other } = await newThreads(t);
  const { begun, work, end } = newWork();
  const first = signInTurn(one, caller, SLH_DSA, work('first'));
  let leave: () => void = () => {};
  const onGone = (listener: () => void) => {
    leave = listener;
    return () => {};
  };
  const left = signInTurn(other, { ...caller, onGone }, SLH_DSA, work('left'));
  await settle();
  leave();
  await assert.rejects(left, { kind: 'unavailable' });
  end();
  await first;
  assert.deepEqual(begun, ['first']);
});

test('of one address as many wait as on one thread; one more is told to come again', async (t) => {
  const { one, other } = await newThreads(t);
  const { begun, work, end } = newWork();
  const held = Array.from({ length: 17 }, (_, number) =>
    signInTurn(number % 2 === 0 ? one : other, caller, SLH_DSA, work(`${number}`)),
  );
  await settle();
  await assert.rejects(signInTurn(other, caller, SLH_DSA, work('more')), { kind: 'rate_limited' });
  end();
  await Promise.all(held);
  assert.equal(begun.length, 17);
});

test('a turn at the place of a thread that has just ended is left when its work is done', async (t) => {
  const { supervisor, one, other, newThread } = await newThreads(t);
  const next = await newThread(1);
  const { work } = newWork();
  void signInTurn(one, caller, SLH_DSA, work('ended'));
  await settle();
  noteEnd(supervisor, 1);
  // It counts its turns from the beginning.
  assert.equal(await signInTurn(next, caller, SLH_DSA, async () => 'next'), 'next');
  const made: string[] = [];
  void signInTurn(other, caller, SLH_DSA, async () => void made.push('other'));
  await settle();
  assert.deepEqual(made, ['other']);
});
