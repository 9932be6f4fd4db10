import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, requireTestMount, testCaller } from '../../../../test/support/app.ts';
import { eachEngine } from '../../../../test/support/engines.ts';
import { makeResource } from '../../../../test/support/resources.ts';
import type { App } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { GrantSet } from '../../resource/grants/decision.ts';
import { insertLinks } from '../../resource/links/store.ts';
import { insertResource } from '../../resource/store.ts';
import { MOST_HOST_SETS } from '../sources.ts';
import { countAll, drawSome, ownerOf, placeOf } from './draw.ts';
import { findDrawn, findEndpoint } from './operations.ts';
import { listSizes } from './store.ts';

const target = { ...makeResource('ttcp_1'), body: { address: '' } };
const hostId = (at: number): string => `hst_${String(at).padStart(5, '0')}`;
const setId = (at: number): string => `hsst_${String(at).padStart(5, '0')}`;
const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, at) => from + at);

/** Makes hosts and sets of them, which the target has. */
async function makeHosts(app: App, count: number, sets: readonly number[][]): Promise<void> {
  await app.store.commit([
    ...range(0, count).map((at) =>
      insertResource(makeResource(hostId(at), { body: { address: `10.0.0.${at}` } })),
    ),
    ...[target, ...sets.map((_, at) => makeResource(setId(at)))].map(insertResource),
    ...sets.flatMap((hosts, at) =>
      insertLinks({ from_id: setId(at), kind: 'host-set-host', to_ids: hosts.map(hostId) }),
    ),
    ...insertLinks({
      from_id: target.id,
      kind: 'target-host-source',
      to_ids: sets.map((_, at) => setId(at)),
    }),
  ]);
}

async function callerOf(app: App): Promise<BrokerCaller> {
  const who = { user_id: 'u_1', account_id: '', auth_method_id: '', auth_token_id: '' };
  const grants = new GrantSet('recovery', []);
  return { ...testCaller(await requireTestMount(app, 'sys/')), who: { ...who, grants } };
}

const places: [at: number, place: { host_set_id: string; at: number } | undefined][] = [
  [0, { host_set_id: 'a', at: 0 }],
  [1, { host_set_id: 'a', at: 1 }],
  [2, { host_set_id: 'c', at: 0 }],
  [4, { host_set_id: 'c', at: 2 }],
  [5, undefined],
];

for (const [at, place] of places) {
  test(`the host with the number ${at} of sets of 2, 0 and 3 is ${JSON.stringify(place)}`, () => {
    const sizes = [2, 0, 3].map((size, set) => ({ host_set_id: 'abc'[set] ?? '', size }));
    assert.deepEqual(placeOf(sizes, at), place);
    assert.equal(countAll(sizes), 5);
  });
}

test('a host counts in the last of its sets alone', () => {
  assert.equal(ownerOf(['b', 'c', 'a']), 'c');
  assert.equal(ownerOf(['a']), 'a');
  assert.equal(ownerOf([]), undefined);
});

test('of a list some are drawn, each once, and all when there are no more', () => {
  const rolls = [0, 0.99, 0.5, 0, 0];
  const roll = (): number => rolls.shift() ?? 0;
  assert.deepEqual(drawSome(['a', 'b', 'c'], 2, roll), ['a', 'c']);
  assert.deepEqual(drawSome(['a', 'b', 'c'], 9, roll).sort(), ['a', 'b', 'c']);
});

eachEngine('the endpoint of a target', (open) => {
  test('each host of many is as likely as any other, however many sets it is in', async () => {
    const { app } = await openTestApp(await open());
    const sets = [range(0, 200), range(100, 300), [], range(150, 160), range(0, 200)];
    await makeHosts(app, 301, sets);
    const sizes = await listSizes(app.db, range(0, 5).map(setId));
    assert.equal(countAll(sizes), 610);
    const drawn: string[] = [];
    for (let at = 0; at < 610; at++) {
      const member = await findDrawn(app, sizes, at);
      if (member) drawn.push(member.host_id);
    }
    assert.deepEqual(drawn.sort(), range(0, 300).map(hostId), 'each by one of the numbers');
  });

  const counts: [why: string, sets: number[][]][] = [
    ['as many as are all read', [range(0, 256)]],
    ['one more', [range(0, 257)]],
    ['in two sets', [range(0, 200), range(100, 257)]],
    [
      'in more sets than a target can have, from before',
      range(0, 80).map((at) => range(at, at + 5)),
    ],
    ['in one set of many that are empty', [...range(0, 70).map(() => []), range(0, 257)]],
  ];
  for (const [why, sets] of counts) {
    test(`one is chosen, and the one that is asked for: ${why}`, async () => {
      const { app } = await openTestApp(await open());
      await makeHosts(app, 260, sets);
      const caller = await callerOf(app);
      const all = new Set(sets.flat().map(hostId));
      const any = await findEndpoint(app, caller, { target, host_id: '' });
      assert.ok(all.has(any.host_id));
      assert.equal(any.address, `10.0.0.${Number(any.host_id.slice(4))}`);
      const members = sets[Number(any.host_set_id.slice(5))] ?? [];
      assert.ok(members.map(hostId).includes(any.host_id), 'the set has it');
      const wanted = await findEndpoint(app, caller, { target, host_id: hostId(3) });
      assert.equal(wanted.host_id, hostId(3));
      const other = findEndpoint(app, caller, { target, host_id: hostId(259) });
      await assert.rejects(other, (error) => error instanceof Failure && error.kind === 'invalid');
    });
  }

  for (const sets of [[], [[]], range(0, MOST_HOST_SETS + 1).map((): number[] => [])]) {
    test(`none is found in ${sets.length} sets without hosts`, async () => {
      const { app } = await openTestApp(await open());
      await makeHosts(app, 4, sets);
      for (const host_id of ['', hostId(3)]) {
        const found = findEndpoint(app, await callerOf(app), { target, host_id });
        await assert.rejects(found, (e) => e instanceof Failure && e.kind === 'not_found');
      }
    });
  }

  test('for a client that has gone no host is drawn', async () => {
    const { app } = await openTestApp(await open());
    await makeHosts(app, 257, [range(0, 257)]);
    const caller: BrokerCaller = {
      ...(await callerOf(app)),
      onGone: (listener) => {
        listener();
        return () => {};
      },
    };
    const found = findEndpoint(app, caller, { target, host_id: '' });
    await assert.rejects(found, (e) => e instanceof Failure && e.kind === 'unavailable');
  });
});
