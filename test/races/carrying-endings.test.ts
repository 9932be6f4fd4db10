import { activateSession } from '../../src/broker/sessions/connections/carried-session.operations.ts';
// What a worker does for a session while that ends: it becomes active no more, no connection is
// permitted, and none is connected.

import assert from 'node:assert/strict';
import { systemCaller } from '../../src/access/system-caller.ts';
import type { Caller } from '../../src/app/caller.ts';
import {
  authorizeConnection,
  connectConnection,
} from '../../src/broker/sessions/connections/operations.ts';
import { findSession } from '../../src/broker/sessions/store.ts';
import { Failure } from '../../src/core/failure.ts';
import { newPlace, type Place, type PlaceOptions, versionOf } from '../support/broker-places.ts';
import { type Bench, must, type Outcome, type RaceCase, raceAll } from '../support/racing.ts';
import { tokenIdOf } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

const TOFU = 'abcdefghij0123456789';
const ENDS = {
  client_tcp_address: '127.0.0.1',
  client_tcp_port: 50_123,
  endpoint_tcp_address: '10.0.0.5',
  endpoint_tcp_port: 22,
};
const worker_id = 'w_1';

/** Workers have no requests of their own yet: their operations are called, and answer like requests. */
async function answered(work: Promise<unknown>): Promise<Outcome> {
  try {
    return { status: 200, text: JSON.stringify(await work) };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { status: error.kind === 'conflict' ? 409 : 403, text: error.message };
  }
}

const carrier = (path: string): Caller => {
  const caller = systemCaller('carrying', 'carrying');
  return { ...caller, record: { ...caller.record, path } };
};

const activate = ({ maker }: Bench, session_id: string): Promise<unknown> =>
  activateSession(maker.running.app, carrier(`${session_id}/activate`), {
    session_id,
    tofu_token: TOFU,
    version: 1,
  });

async function permit({ maker }: Bench, session_id: string): Promise<string> {
  const { app } = maker.running;
  const asked = { session_id, worker_id };
  return (await authorizeConnection(app, carrier(`${session_id}/permit`), asked)).connection_id;
}

const connect = ({ maker }: Bench, session_id: string, connection_id: string): Promise<unknown> =>
  connectConnection(maker.running.app, carrier(`${session_id}/connect`), {
    connection_id,
    worker_id,
    ...ENDS,
  });

/** Each begins where the one before it has ended. */
const STEPS: [name: string, path: string, steps: number][] = [
  ['an activation', 'activate', 0],
  ['a connection', 'permit', 1],
  ['the endpoint of a connection', 'connect', 2],
];

const deleting =
  (plural: string, id: (place: Place) => string) =>
  ({ remover }: Bench, place: Place): Promise<Reply> =>
    remover.call('DELETE', `${plural}/${id(place)}`);

type End = [
  name: string,
  end: (bench: Bench, place: Place, id: string) => Promise<Reply>,
  options?: PlaceOptions,
];

/** Whoever cancels names a version, and an activation makes another one. */
async function cancel(bench: Bench, _place: Place, id: string): Promise<Reply> {
  for (;;) {
    const version = await versionOf(bench, `sessions/${id}`);
    const canceled = await bench.remover.call('POST', `sessions/${id}:cancel`, { version });
    if (canceled.status !== 404) return canceled;
  }
}

const ends: End[] = [
  ['its cancellation', cancel],
  ['its target', deleting('targets', ({ target }) => target)],
  ['its log-in', deleting('auth-tokens', ({ token }) => tokenIdOf(token)), { own: true }],
];

/** What else ends a session does so by the same statements. */
const otherEnds: End[] = [
  ['its project', deleting('scopes', ({ project }) => project)],
  ['its host', deleting('hosts', ({ host }) => host)],
  [
    'the host set of its target',
    ({ remover }, { target, host_set }) =>
      remover.call('POST', `targets/${target}:remove-host-sources`, {
        version: 3,
        host_source_ids: [host_set],
      }),
  ],
  ['its user', deleting('users', ({ person }) => person.user), { own: true }],
  ['its auth method', deleting('auth-methods', ({ person }) => person.method), { own: true }],
];

async function requireOver({ remover }: Bench, id: string): Promise<void> {
  const status = (await findSession(remover.running.app.db, id))?.status ?? 'gone';
  assert.ok(['canceling', 'terminated'].includes(status), status);
}

function carrying([step, path, before]: (typeof STEPS)[number]): RaceCase<Outcome>[] {
  return [...ends, ...(before === 0 ? otherEnds : [])].map(([name, end, options]) => ({
    name: `${step} and ${name}`,
    refused: [403, 409],
    async setUp(bench: Bench) {
      const place = await newPlace(bench, options);
      const at = `targets/${place.target}:authorize-session`;
      const made = await must(bench.maker.call('POST', at, {}, { token: place.token }));
      const id = made.textAt('session_id');
      if (before > 0) await activate(bench, id);
      const connection = before > 1 ? await permit(bench, id) : '';
      const steps = [activate, permit, () => connect(bench, id, connection)];
      return {
        path: `${id}/${path}`,
        make: () => answered(steps[before]?.(bench, id) ?? Promise.resolve()),
        remove: () => end(bench, place, id),
        ended: () => requireOver(bench, id),
        left: () => requireOver(bench, id),
      };
    },
  }));
}

raceAll('what a worker does for a session', STEPS.flatMap(carrying));
