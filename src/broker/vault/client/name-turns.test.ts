import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OWN_PARTY, siteOfParty } from '../../../core/fairness/party.ts';
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
  const turns = new NameTurns<string>(() => new Error('no place'), clock);
  const running = new Map<string, (found: string[]) => void>();
  const told: string[] = [];
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const ask = async (name: string, party: string, site = siteOfParty(party)): Promise<void> => {
    const lookUp = () => new Promise<string[]>((resolve) => running.set(name, resolve));
    const note = (found: readonly string[]) => told.push(found[0] ?? '');
    void turns.take(name, { party, site, onGone: undefined }, lookUp).then(note);
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
  const end = async (name: string, after_ms: number, addresses = 1): Promise<void> => {
    await wait(after_ms);
    running.get(name)?.(Array(addresses).fill(`${name} at ${now}`));
    running.delete(name);
    await settle();
  };
  return { ask, end, wait, running: () => [...running.keys()], told };
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
  for (const at of [1, 2, 3, 4]) await ask(`slow-${at}`, `192.0.${at}.1`);
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
  // What they were found to be is forgotten by then.
  await wait(60_000);
  for (const at of [1, 2]) await ask(`new-${at}`, `192.0.${at}.2`);
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

test('neighbours have one place for new names, and other networks the other', async () => {
  const { ask, running } = openNames();
  for (const at of [1, 2, 3]) await ask(`new-${at}`, `192.0.2.${at}`);
  assert.deepEqual(running(), ['new-1']);
  await ask('vault', '198.51.100.1');
  assert.deepEqual(running(), ['new-1', 'vault']);
});

test('projects of one organization have one place for new names, and other organizations the other', async () => {
  const { ask, running } = openNames();
  for (const at of [1, 2, 3]) await ask(`new-${at}`, `p_${at}`, 'o_1');
  assert.deepEqual(running(), ['new-1']);
  await ask('vault', 'p_4', 'o_2');
  assert.deepEqual(running(), ['new-1', 'vault']);
});

test('a name that was found within a minute is what it was while others have all places', async () => {
  const { ask, end, wait, running, told } = openNames();
  const turned = [1, 2, 3, 4].map((at): [string, string] => [`turned-${at}`, `203.0.${at}.1`]);
  for (const [name, party] of turned) {
    await ask(name, party);
    await end(name, 5);
  }
  await ask('vault', '198.51.100.1');
  await end('vault', 5);
  assert.equal(told.at(-1), 'vault at 25');
  // Where there is a place, it is looked up.
  await ask('vault', '198.51.100.1');
  await end('vault', 5);
  assert.equal(told.at(-1), 'vault at 30');
  for (const at of [1, 2]) await ask(`new-${at}`, `192.0.${at}.1`);
  for (const [name, party] of turned) {
    await ask(name, party);
    await wait(1_000);
  }
  const hanging = ['new-1', 'new-2', 'turned-1', 'turned-2', 'turned-3', 'turned-4'];
  assert.deepEqual(running(), hanging);
  told.length = 0;
  await ask('vault', '198.51.100.1');
  assert.deepEqual(told, ['vault at 30'], 'by whomever');
  await ask('vault', OWN_PARTY);
  assert.deepEqual(told, ['vault at 30', 'vault at 30']);
  await ask('never-found', '198.51.100.1');
  assert.equal(told.length, 2);
  await wait(56_000);
  await ask('vault', '198.51.100.1');
  assert.equal(told.length, 2, 'not for longer than a minute');
  assert.deepEqual(running(), hanging);
  await end('turned-1', 1);
  assert.deepEqual(running().at(-1), 'vault', 'it waits for its place then');
});

test('a name of more addresses than are remembered waits for its place', async () => {
  const { ask, end, running, told } = openNames();
  for (const [name, addresses] of [
    ['few', 16],
    ['many', 17],
    ['turned', 1],
  ] as const) {
    await ask(name, '198.51.100.1');
    await end(name, 5, addresses);
  }
  for (const at of [1, 2]) await ask(`new-${at}`, `192.0.${at}.1`);
  await ask('turned', '198.51.100.1');
  told.length = 0;
  for (const name of ['few', 'many']) await ask(name, '198.51.100.1');
  assert.deepEqual(told, ['few at 5']);
  assert.deepEqual(running(), ['new-1', 'new-2', 'turned']);
});
