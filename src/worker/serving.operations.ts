import { systemCaller } from '../access/system-caller.ts';
import type { App } from '../app/app.ts';
import type { Caller } from '../app/caller.ts';
import { findRecordingOfSession } from '../broker/recordings/recordings/store.ts';
import { recordStep } from '../broker/recordings/recordings/writing.operations.ts';
import {
  activateSession,
  cancelCarriedSession,
  lookUpSession,
  requireCarried,
} from '../broker/sessions/connections/carried-session.operations.ts';
import {
  authorizeConnection,
  closeConnections,
  connectConnection,
} from '../broker/sessions/connections/operations.ts';
import { readSshGrant } from '../broker/targets/injection.operations.ts';
import { requireWorker } from '../broker/workers/selection.operations.ts';
import { judgeEnds, reachEndpoint } from './hops/operations.ts';
import type { Upstream } from './upstream.ts';

/** What a server answers the worker of an id, whatever it asks by. */
export function upstreamOf(app: App, worker_id: string): Upstream {
  const caller = (): Caller => {
    const made = systemCaller(app.newId(), 'carry-session');
    made.record.outcome.worker_id = worker_id;
    return made;
  };
  const mayCarry = async (session_id: string): Promise<void> => {
    await requireCarried(app, await requireWorker(app, worker_id), session_id);
  };
  return {
    async lookUp({ session_id }) {
      const worker = await requireWorker(app, worker_id);
      const { session, ...rest } = await lookUpSession(app, worker, session_id);
      const { certificate, status, expires_ms, connection_limit, endpoint } = session;
      const { private_key, tofu_token, version, dials, injects } = rest;
      const recording = await findRecordingOfSession(app.db, session_id);
      return {
        session_id,
        certificate,
        private_key,
        tofu_token,
        version,
        status,
        expires_ms,
        left_ms: expires_ms - app.now(),
        connection_limit,
        endpoint,
        recording_id: recording?.id ?? '',
        dials,
        injects,
      };
    },
    async activate(request) {
      await mayCarry(request.session_id);
      return { status: await activateSession(app, caller(), request) };
    },
    async cancel({ session_id }) {
      await mayCarry(session_id);
      return { status: await cancelCarriedSession(app, caller(), session_id) };
    },
    async authorize({ session_id }) {
      await mayCarry(session_id);
      return authorizeConnection(app, caller(), { session_id, worker_id });
    },
    reach: (request) => reachEndpoint(app, worker_id, request),
    connect: async (request) => ({
      status: await connectConnection(app, caller(), { ...request, worker_id }),
    }),
    async logIn({ session_id }) {
      const worker = await requireWorker(app, worker_id);
      return readSshGrant(app, caller(), { worker, session_id });
    },
    async close({ ends }) {
      await closeConnections(app, caller(), await judgeEnds(app, ends), worker_id);
      return { closed: ends.length };
    },
    record: (step) => recordStep(app, caller(), worker_id, step),
  };
}
