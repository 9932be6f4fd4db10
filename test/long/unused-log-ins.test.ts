// A log-in of the broker that nobody uses for a day, on either API, is none on both.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endDeadLogIns } from '../../src/broker/iam/auth-tokens/operations.ts';
import { findResource } from '../../src/broker/resource/store.ts';
import { WrittenTables } from '../../src/store/written-tables.ts';
import { eachPlace, type Place } from '../support/engines.ts';
import { turnOfJob } from '../support/job-work.ts';
import { type Person, startBroker, tokenIdOf } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

async function startAt(t: { after(stop: () => Promise<void>): void }, place: Place) {
  const clock = { ahead: 0 };
  const broker = await startBroker(t, { place, now: () => Date.now() + clock.ahead, jobs: [] });
  const { call, running } = broker.client;
  const atAuthority = (token: string): Promise<Reply> =>
    call('GET', 'auth/token/lookup-self', undefined, { token });
  const atBroker = (person: Person): Promise<Reply> =>
    person.call('GET', `users/${person.user_id}`);
  /** What is noted by the way is durable before what is written after it. */
  const letNote = (): Promise<Reply> => call('POST', 'auth/token/create', {});
  return { ...broker, clock, call, app: running.app, atAuthority, atBroker, letNote };
}

type Api = 'authority' | 'broker';
const cases: [why: string, uses: Api[], idle: number, good: boolean][] = [
  ['left unused for nearly a day', [], 24 * HOUR - MINUTE, true],
  ['left unused for a day', [], 24 * HOUR, false],
  ['used at the authority each day', ['authority', 'authority', 'authority'], 23 * HOUR, true],
  ['used at the broker each day', ['broker', 'broker', 'broker'], 23 * HOUR, true],
  ['used at either in turn', ['authority', 'broker', 'authority'], 23 * HOUR, true],
  ['left unused for a day after it was used', ['authority', 'broker'], 24 * HOUR, false],
  ['used until its seventh day', Array(7).fill('authority'), 23 * HOUR, false],
];

eachPlace('unused log-ins', (newPlace) => {
  for (const [why, uses, idle, good] of cases) {
    test(`a log-in that was ${why} is ${good ? 'good' : 'none'} on both APIs, before the job and after it`, async (t) => {
      const { app, clock, ...broker } = await startAt(t, await newPlace());
      const person = await broker.person(['ids=*;type=user;actions=read']);
      for (const api of uses) {
        clock.ahead += idle;
        await (api === 'authority' ? broker.atAuthority(person.token) : broker.atBroker(person));
        await broker.letNote();
      }
      clock.ahead += idle;
      const judge = async (): Promise<number[]> => [
        (await broker.atAuthority(person.token)).status,
        (await broker.atBroker(person)).status,
      ];
      const wanted = good ? [200, 200] : [403, 401];
      assert.deepEqual(await judge(), wanted);
      await endDeadLogIns(app, turnOfJob(app));
      assert.deepEqual(await judge(), wanted);
      const kept = await findResource(app.db, tokenIdOf(person.token));
      assert.equal(kept !== undefined, good);
    });
  }

  test('with a log-in that was left unused its sessions end, and tokens made from it, and no others', async (t) => {
    const { app, clock, call, ...broker } = await startAt(t, await newPlace());
    const policy = 'path "auth/token/create" { capabilities = ["update"] }';
    await call('PUT', 'sys/policies/acl/makes-tokens', { policy });
    const target = await broker.make('targets', {
      ...{ scope_id: broker.project, type: 'tcp', name: 'long', address: '10.0.0.5' },
      ...{ session_max_seconds: 3 * 86_400, attributes: { default_port: 22 } },
    });
    const stand = async ({ call: ask, token }: Person) => {
      const session = await ask('POST', `targets/${target}:authorize-session`, {});
      assert.equal(session.status, 200, session.text);
      const entity = (await broker.atAuthority(token)).textAt('data.entity_id');
      await call('POST', `identity/entity/id/${entity}`, { policies: ['makes-tokens'] });
      const child = await call('POST', 'auth/token/create', {}, { token });
      assert.equal(child.status, 200, child.text);
      return { session: session.textAt('session_id'), child: child.textAt('auth.client_token') };
    };
    const grants = ['ids=*;type=*;actions=*'];
    const [left, used] = [await broker.person(grants), await broker.person(grants)];
    const [ofLeft, ofUsed] = [await stand(left), await stand(used)];
    clock.ahead += 12 * HOUR;
    await broker.atAuthority(used.token);
    // What is made from it is another token: its use is none of the log-in.
    await broker.atAuthority(ofLeft.child);
    await broker.letNote();
    clock.ahead += 12 * HOUR;
    await endDeadLogIns(app, turnOfJob(app));
    const root = broker.as('root');
    for (const [{ session, child }, status, alive] of [
      [ofLeft, 'canceling', 403],
      [ofUsed, 'pending', 200],
    ] as const) {
      assert.equal((await root('GET', `sessions/${session}`)).field('status'), status);
      assert.equal((await broker.atAuthority(child)).status, alive);
    }
  });

  test('use on the Vault API is noted once in ten minutes', async (t) => {
    const { app, clock, ...broker } = await startAt(t, await newPlace());
    const person = await broker.person([]);
    let notes = 0;
    const tables = new WrittenTables(['resource']);
    const { commit } = app.store;
    app.store.commit = async (effects) => {
      await commit(effects);
      if (tables.of([effects]).size > 0) notes += 1;
    };
    for (const [minutes, noted] of [
      [9, 0],
      [1, 1],
      [0, 1],
      [9, 1],
      [1, 2],
    ] as const) {
      clock.ahead += minutes * MINUTE;
      await Promise.all([1, 2, 3].map(() => broker.atAuthority(person.token)));
      await broker.letNote();
      assert.equal(notes, noted, `after ${minutes} minutes more`);
    }
  });
});
