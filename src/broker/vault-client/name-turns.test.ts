import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OWN_PARTY } from '../../core/party.ts';
import { NameTurns } from './name-turns.ts';

/** Names that are looked up until they are told to end. */
function openNames() {
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
  const turns = new NameTurns(() => new Error('no place'), clock);
  const running = new Map<string, () => void>();
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const ask = async (name: string, party: string): Promise<void> => {
    const lookUp = () => new Promise<void>((resolve) => running.set(name, resolve));
    void turns.take(name, { party, onGone: undefined }, lookUp);
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
  const end = async (name: string, after_ms: number): Promise<void> => {
    await wait(after_ms);
    running.get(name)?.();
    running.delete(name);
    await settle();
  };
  return { ask, end, wait, running: () => [...running.keys()] };
}

test('names that are never answered keep one place of whoever asks, and others have the other', async () => {
  const { ask, running } = openNames();
  for (const name of ['slow-1', 'slow-2', 'slow-3']) await ask(name, '192.0.2.1');
  assert.deepEqual(running(), ['slow-1']);
  await ask('vault', '198.51.100.1');
  assert.deepEqual(running(), ['slow-1', 'vault']);
});

test('a name that was slow has a place that quick ones do not need', async () => {
  const { ask, end, running } = openNames();
  for (const name of ['slow-1', 'slow-2']) {
    await ask(name, OWN_PARTY);
    await end(name, 1_001);
  }
  for (const name of ['slow-1', 'slow-2', 'vault-1', 'vault-2', 'vault-3'])
    await ask(name, OWN_PARTY);
  assert.deepEqual(running(), ['slow-1', 'vault-1', 'vault-2']);
  await end('vault-1', 1);
  assert.deepEqual(running(), ['slow-1', 'vault-2', 'vault-3']);
});

test('a name that was quick, or is quick again, is none of the slow ones', async () => {
  const { ask, end, running } = openNames();
  await ask('vault', OWN_PARTY);
  await end('vault', 1_000);
  await ask('recovered', OWN_PARTY);
  await end('recovered', 1_001);
  await ask('recovered', OWN_PARTY);
  await end('recovered', 5);
  for (const name of ['vault', 'recovered', 'third', 'fourth']) await ask(name, OWN_PARTY);
  assert.deepEqual(running(), ['vault', 'recovered', 'third']);
});

test('a name that was quick has a place that no number of new ones takes, and new ones have none of it', async () => {
  const { ask, end, running } = openNames();
  await ask('vault', '198.51.100.1');
  await end('vault', 5);
  for (const at of [1, 2, 3, 4]) await ask(`slow-${at}`, `192.0.2.${at}`);
  assert.deepEqual(running(), ['slow-1', 'slow-2']);
  await ask('vault', '198.51.100.1');
  assert.deepEqual(running(), ['slow-1', 'slow-2', 'vault']);
  await end('slow-1', 15_000);
  assert.deepEqual(running(), ['slow-2', 'vault', 'slow-3']);
});

test('names that were quick and hang now keep the place of the quick ones for a second, once', async () => {
  const { ask, end, wait, running } = openNames();
  const turned = ['turned-1', 'turned-2', 'turned-3'];
  for (const name of [...turned, 'vault']) {
    await ask(name, '192.0.2.1');
    await end(name, 5);
  }
  for (const at of [1, 2]) await ask(`new-${at}`, `192.0.2.${at}`);
  for (const name of turned) await ask(name, '192.0.2.1');
  await ask('vault', '198.51.100.1');
  assert.deepEqual(running(), ['new-1', 'new-2', 'turned-1']);
  await wait(1_000);
  assert.deepEqual(running(), ['new-1', 'new-2', 'turned-1', 'vault']);
});

test('addresses of one site have one place for new names, and other sites the other', async () => {
  const { ask, running } = openNames();
  for (const at of [1, 2, 3]) await ask(`new-${at}`, `2001:db8:1:${at}::/64`);
  assert.deepEqual(running(), ['new-1']);
  await ask('vault', '2001:db8:2:1::/64');
  assert.deepEqual(running(), ['new-1', 'vault']);
});
