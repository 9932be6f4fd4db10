import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { recordFrom } from '../../../test/support/caller-record.ts';
import { startTestServer } from '../../../test/support/server.ts';
import { doFor, whoAsks } from '../../core/fairness/asking.ts';
import { SHARED_PARTY } from '../../core/fairness/party.ts';
import { listInTurn, startFilling, startWalk } from './walks.operations.ts';

const { running } = await startTestServer({ after });
const { app } = running;

/** A caller from an address, and what has them go. */
function callerAt(remote_address: string) {
  const listeners = new Set<() => void>();
  return {
    record: recordFrom(remote_address),
    onGone(listener: () => void) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    go() {
      for (const listener of [...listeners]) listener();
    },
  };
}

/** Pages that are begun, and end when told. */
class Pages {
  readonly begun: (() => void)[] = [];

  readonly read = (): Promise<void> => new Promise((resolve) => this.begun.push(resolve));

  async end(): Promise<void> {
    for (const one of this.begun.splice(0)) one();
    for (let at = 0; at < 20; at += 1) await undefined;
  }
}

const nothing = async (): Promise<void> => {};

test('of one address two further pages are read at once, and others have theirs meanwhile', async () => {
  const pages = new Pages();
  const reading: Promise<void>[] = [];
  for (let at = 0; at < 20; at += 1) {
    const read = startWalk(app, callerAt('192.0.2.1'));
    await read(nothing);
    reading.push(read(pages.read));
  }
  assert.equal(pages.begun.length, 2);
  const other = startWalk(app, callerAt('198.51.100.7'));
  await other(nothing);
  await other(nothing);
  while (pages.begun.length > 0) await pages.end();
  await Promise.all(reading);
});

test('the first page, which is all of a usual list, waits for nobody', async () => {
  const pages = new Pages();
  const reading: Promise<void>[] = [];
  for (let at = 0; at < 20; at += 1) {
    const read = startWalk(app, callerAt(`192.0.2.${at}`));
    await read(nothing);
    reading.push(read(pages.read));
  }
  let isRead = false;
  await startWalk(
    app,
    callerAt('192.0.2.1'),
  )(async () => {
    isRead = true;
  });
  assert.equal(isRead, true);
  while (pages.begun.length > 0) await pages.end();
  await Promise.all(reading);
});

test('nothing more is read for somebody who has gone, whether they wait or not', async () => {
  const caller = callerAt('192.0.2.1');
  const read = startWalk(app, caller);
  let count = 0;
  const page = async (): Promise<void> => {
    count += 1;
  };
  await read(page);
  await read(page);
  assert.equal(count, 2);
  caller.go();
  await assert.rejects(read(page), /gone/);
  assert.equal(count, 2);

  const pages = new Pages();
  const walks = [callerAt('192.0.2.1'), callerAt('192.0.2.1'), callerAt('192.0.2.1')];
  const readings = walks.map(async (one) => {
    const readOne = startWalk(app, one);
    await readOne(nothing);
    await readOne(pages.read);
  });
  await pages.end.call({ begun: [] });
  assert.equal(pages.begun.length, 2);
  const waiting = assert.rejects(readings[2] ?? nothing(), /gone/);
  walks[2]?.go();
  await waiting;
  while (pages.begun.length > 0) await pages.end();
  await Promise.all(readings.slice(0, 2));
});

test('of long lists four are made at once, two of one address, and of the turns half are for those who are known', async () => {
  const lists = new Pages();
  const order: string[] = [];
  const made = ['192.0.2.1', '192.0.2.2', '198.51.100.1', '203.0.113.1'].flatMap((address) =>
    Array.from({ length: 5 }, () =>
      listInTurn(app, callerAt(address), {
        isLong: true,
        isKnown: false,
        make() {
          order.push('unknown');
          return lists.read();
        },
      }),
    ),
  );
  assert.equal(lists.begun.length, 4);
  const known = Array.from({ length: 2 }, () =>
    listInTurn(app, callerAt('192.0.2.1'), {
      isLong: true,
      isKnown: true,
      async make() {
        order.push('known');
      },
    }),
  );
  while (lists.begun.length > 0) {
    await lists.end();
    assert.ok(lists.begun.length <= 4);
  }
  await Promise.all([...made, ...known]);
  assert.ok(order.lastIndexOf('known') < 9, order.join(' '));
});

for (const [what, isLong, most] of [
  ['two long lists', true, 2],
  ['four short ones', false, 4],
] as const) {
  test(`of one address ${what} are made at once, and nothing is made for who has gone`, async () => {
    const lists = new Pages();
    const callers = Array.from({ length: most + 1 }, () => callerAt('192.0.2.1'));
    const make = lists.read;
    const made = callers.map((one) => listInTurn(app, one, { isLong, isKnown: true, make }));
    assert.equal(lists.begun.length, most);
    const refused = assert.rejects(made[most] ?? nothing(), /gone/);
    callers[most]?.go();
    await refused;
    await lists.end();
    await Promise.all(made.slice(0, most));
    assert.equal(lists.begun.length, 0);
  });
}

test('a short list waits for no long one, and is work that is shared, as others wait for it', async () => {
  const lists = new Pages();
  const from = ['192.0.2.1', '198.51.100.1', '203.0.113.1'];
  const make = lists.read;
  const long = from.flatMap((address) =>
    [1, 2].map(() => listInTurn(app, callerAt(address), { isLong: true, isKnown: true, make })),
  );
  let party: string | undefined;
  await doFor('192.0.2.1', () =>
    listInTurn(app, callerAt('192.0.2.1'), {
      isLong: false,
      isKnown: true,
      async make() {
        party = whoAsks().party;
      },
    }),
  );
  assert.equal(party, SHARED_PARTY);
  while (lists.begun.length > 0) await lists.end();
  await Promise.all(long);
});

test('a page that one read fills waits for nobody; one that takes more is begun anew in its turn', async () => {
  const reads: string[] = [];
  const pages = new Pages();
  const fill = (address: string, count: number) =>
    startFilling(
      app,
      callerAt(address),
    )(async (read) => {
      const found: string[] = [];
      for (let at = 1; at <= count; at += 1) {
        await read(async () => {
          reads.push(`${address} ${at}`);
          if (count > 1 && at === count) await pages.read();
        });
        found.push(`${at}`);
      }
      return found;
    });
  const long = Array.from({ length: 20 }, () => fill('192.0.2.1', 2));
  // Who has had the event loop for long leaves others their turn of it: on a slow machine these, too.
  while (pages.begun.length < 2) await nextTurn();
  // Twenty begin; of an address two go on, which begin anew.
  assert.equal(reads.filter((read) => read === '192.0.2.1 1').length, 22);
  assert.equal(reads.filter((read) => read === '192.0.2.1 2').length, 2);
  assert.deepEqual(await fill('192.0.2.1', 1), ['1']);
  let areOver = false;
  const all = Promise.all(long).finally(() => {
    areOver = true;
  });
  for (; !areOver; await nextTurn()) await pages.end();
  for (const found of await all) assert.deepEqual(found, ['1', '2']);
});

test('a further page takes its turn at once, and none is filled for somebody who has gone', async () => {
  const caller = callerAt('192.0.2.1');
  const fillPage = startFilling(app, caller);
  let reads = 0;
  const fill = () =>
    fillPage(async (read) => {
      for (let at = 0; at < 2; at += 1) {
        await read(async () => {
          reads += 1;
          if (reads === 6) caller.go();
        });
      }
    });
  await fill();
  // The first read of all was made twice.
  assert.equal(reads, 3);
  await fill();
  assert.equal(reads, 5);
  await assert.rejects(fill(), /gone/);
  assert.equal(reads, 6);
});

test('what fails in a first page is told, and nothing is begun anew', async () => {
  let reads = 0;
  const fillPage = startFilling(app, callerAt('192.0.2.1'));
  await assert.rejects(
    fillPage((read) =>
      read(() => {
        reads += 1;
        return Promise.reject(new Error('broken'));
      }),
    ),
    /broken/,
  );
  assert.equal(reads, 1);
});
