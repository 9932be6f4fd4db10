import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NoRoom, ROOM_PLACES, type RoomPlaces, type SecretHold, SecretRoom } from './room.ts';

const FEW = { at_once: 2, at_once_site: 1, waiting: 8, waiting_each: 4 };
const PLACES: RoomPlaces = {
  short: { total: 20, each: 12 },
  short_each: 8,
  long_each: 40,
  rows_each: 4,
  long: {
    stored: { ...FEW, longest_patience_ms: 1_000 },
    issued: { ...FEW, longest_patience_ms: 2_000 },
  },
};
const MiB = 1 << 20;
const here = { party: '192.0.2.1', site: 'here' };
const there = { party: '198.51.100.1', site: 'there' };
const elsewhere = { party: '203.0.113.1', site: 'elsewhere' };

const openRoom = (): SecretRoom => new SecretRoom(PLACES, (why) => new Error(why));
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Waiting {
  hold?: SecretHold;
}

/** Whoever waits for a place, and whether it came. */
function waiting(place: Promise<SecretHold>): Waiting {
  const state: Waiting = {};
  place.then(
    (hold) => {
      state.hold = hold;
    },
    () => {},
  );
  return state;
}

test('all that can be held together is 64 MiB, and half of it for one site', () => {
  const { short, long, long_each, rows_each } = ROOM_PLACES;
  const sum = (stored: number, issued: number): number =>
    stored * long_each + issued * (long_each + rows_each);
  const { stored, issued } = long;
  assert.ok(short.total + sum(stored.at_once, issued.at_once) <= 64 * MiB);
  assert.ok(short.each + sum(stored.at_once_site ?? 9, issued.at_once_site ?? 9) <= 32 * MiB);
});

test('short secrets are counted as they are, and given back', () => {
  const room = openRoom();
  const hold = room.hold(here);
  hold.grow(5);
  hold.grow(3);
  assert.equal(room.held, 8);
  hold.release();
  assert.equal(room.held, 0);
});

const counted: [what: string, secrets: number, rows: number, held: number | undefined][] = [
  ['rows beside as many secrets as are short', 8, 4, 12],
  ['rows for which there is no room, which take a place', 0, 13, 40],
  ['more rows than a place has room for', 0, 400, 40],
  ['rows beside all secrets that a place has room for', 40, 4, 40],
  ['more secrets than that', 41, 0, undefined],
];
for (const [what, secrets, rows, held] of counted) {
  test(`nobody is refused for having many rows: ${what}`, async () => {
    const room = openRoom();
    const hold = room.hold(here);
    const grow = (): void => {
      hold.grow(secrets);
      hold.growRows(rows);
    };
    if (held === undefined) assert.throws(grow, /more than .* bytes together/);
    else grow();
    assert.equal(room.held, held ?? 0);
    hold.release();
    await settle();
    assert.equal(room.held, 0);
  });
}

test('who finds no room for rows waits as for secrets', () => {
  const room = openRoom();
  room.hold(here).grow(9);
  const second = room.hold(here);
  second.growRows(12);
  assert.throws(
    () => second.growRows(1),
    (error) => error instanceof NoRoom && error.line === 'stored',
  );
});

test('who has long secrets, or comes when the others have all the room, takes a free place', async () => {
  const room = openRoom();
  const long = room.hold(here);
  long.grow(9);
  assert.equal(room.held, 40);
  long.grow(31);
  assert.throws(() => long.grow(1), /more than .* bytes together/);
  const crowd = [there, there, elsewhere].map((asker) => room.hold(asker));
  crowd[0]?.grow(8);
  crowd[1]?.grow(4);
  assert.equal(room.held, 52);
  // Of that site there is no room for one more.
  const late = room.hold(there);
  late.grow(1);
  assert.equal(room.held, 92);
  for (const hold of [long, late, ...crowd]) hold.release();
  await settle();
  assert.equal(room.held, 0);
});

test('who finds neither room nor place hears so, and waits with nothing', async () => {
  const room = openRoom();
  const first = room.hold(here);
  first.grow(9);
  const second = room.hold(here);
  second.grow(8);
  assert.throws(
    () => second.grow(1),
    (error) => error instanceof NoRoom && error.line === 'stored',
  );
  second.release();
  assert.equal(room.held, 40);
  const state = waiting(room.wait('stored', here));
  await settle();
  assert.equal('hold' in state, false);
  first.release();
  await settle();
  assert.ok(state.hold);
  state.hold.grow(40);
  assert.equal(room.held, 40);
  state.hold.release();
  await settle();
  assert.equal(room.held, 0);
});

test('a site where many wait holds up no other one, and the turn goes round the sites', async () => {
  const room = openRoom();
  const crowd = Array.from({ length: 4 }, () => waiting(room.wait('stored', here)));
  const other = waiting(room.wait('stored', there));
  const third = waiting(room.wait('stored', elsewhere));
  await settle();
  assert.deepEqual(
    [...crowd, other, third].map(({ hold }) => hold !== undefined),
    [true, false, false, false, true, false],
  );
  crowd[0]?.hold?.release();
  await settle();
  assert.ok(third.hold, 'it had no turn yet');
  assert.equal(crowd[1]?.hold, undefined);
});

test('too many who wait are refused, and so are those who have gone', async () => {
  const room = openRoom();
  room.hold(here).grow(9);
  const leave: (() => void)[] = [];
  const onGone = (listener: () => void) => {
    leave.push(listener);
    return () => {};
  };
  const waits = Array.from({ length: 4 }, () => room.wait('stored', { ...here, onGone }));
  await assert.rejects(room.wait('stored', here), /refused/);
  leave[0]?.();
  await assert.rejects(Promise.race(waits), /gone/);
  assert.equal(room.held, 40);
});

test('who has waited so long is refused, and not before', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const room = openRoom();
  const first = room.hold(here);
  first.grow(9);
  const ended: unknown[] = [];
  for (let at = 0; at < 2; at++) room.wait('stored', here).catch((error) => ended.push(error));
  const others = waiting(room.wait('issued', here));
  t.mock.timers.tick(999);
  await settle();
  assert.deepEqual(ended, []);
  t.mock.timers.tick(1);
  await settle();
  assert.deepEqual(ended.map(String), ['Error: refused', 'Error: refused']);
  first.release();
  await settle();
  assert.ok(room.held === 44 && others.hold, 'the place of the other line alone');
});

test('who waits for servers keeps no place of those who do not, and one of their own', async () => {
  const room = openRoom();
  const mixed = room.hold(here);
  mixed.grow(30);
  mixed.startIssuing();
  await settle();
  assert.equal(room.held, 0, 'what is stored is read again');
  mixed.grow(9);
  const stored = room.hold(here);
  stored.grow(40);
  assert.equal(room.held, 84, 'one of each line');
  const more = room.hold(here);
  more.startIssuing();
  assert.throws(
    () => more.grow(9),
    (error) => error instanceof NoRoom && error.line === 'issued',
  );
  for (const hold of [mixed, stored, more]) hold.release();
  await settle();
  const waited = await room.wait('issued', here);
  waited.grow(40);
  waited.startIssuing();
  waited.grow(40);
  assert.equal(room.held, 44, 'it keeps its place');
  waited.release();
  await settle();
  assert.equal(room.held, 0);
});
