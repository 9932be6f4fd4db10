import { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { BrokerCaller } from '../resource/caller.ts';
import type { Kind, ShownHandler } from '../resource/handler.ts';
import { type ListAnswer, listResources } from '../resource/lists/operations.ts';
import type { ListRequest } from '../resource/lists/query.ts';
import { commitChange, requireResource, requireVersion } from '../resource/operations.ts';
import type { Resource } from '../resource/resource.ts';
import { sessionConnection } from './connections/connection.ts';
import { showConnections } from './connections/shown.operations.ts';
import { describeSession, LIVE_STATUSES, type SessionBody, sessionShown } from './session.ts';
import { listSessionFacts } from './store.ts';
import { endCredentials, takeCredentialsBack } from './termination.operations.ts';
import { beginCanceling } from './transitions.store.ts';

const shown = {
  ...sessionShown,
  connections: z.array(sessionConnection).describe('Not in lists.'),
};

interface SessionKind extends Kind {
  shown: typeof shown;
  body: SessionBody;
}

export const sessionDefinition: ShownHandler<SessionKind> = {
  type: 'session',
  containerField: 'scope_id',
  shown,
  words: { stale: 'Session "%" doesn\'t exist or incorrect version provided.' },

  async describe(app, _caller, sessions, how) {
    const facts = await listSessionFacts(
      app.db,
      sessions.map((session) => session.id),
    );
    return Promise.all(
      sessions.map(async ({ id, owner_id, subtype }) => {
        const known = facts.get(id);
        if (!known) return {};
        const described = describeSession(known, { user_id: owner_id, type: subtype });
        if (how === 'list' || known.connections === 0) return described;
        return { ...described, connections: await showConnections(app, id, known.connections) };
      }),
    );
  },
};

/** Lists sessions; those that have ended only when asked for, or when they are news. */
export function listSessions(
  app: App,
  caller: BrokerCaller,
  { include_terminated, ...asked }: ListRequest & { include_terminated: boolean },
): Promise<ListAnswer> {
  return listResources(
    app,
    caller,
    sessionDefinition,
    asked,
    include_terminated ? {} : { keep: { name: 'living', keeps: (session) => !hasEnded(session) } },
  );
}

const hasEnded = ({ body }: Resource<SessionBody>): boolean => body.ended ?? false;

/**
 * Cancels a session: it is ended once its connections are cut. One that is canceled or has
 * ended already stays as it is.
 */
export async function cancelSession(
  app: App,
  caller: BrokerCaller,
  { resource }: { resource: Resource<SessionBody> },
): Promise<Resource<SessionBody>> {
  const facts = (await listSessionFacts(app.db, [resource.id])).get(resource.id);
  if (!facts || !LIVE_STATUSES.includes(facts.status)) {
    // Whoever came first may have ended it since it was read here, and this version with it.
    const present = await requireResource<SessionKind>(app, sessionDefinition, resource.id);
    requireVersion(sessionDefinition, present, resource.version);
    return present;
  }
  const ids = [resource.id];
  const canceled = await commitChange(app, caller, sessionDefinition, resource, {
    effects: [beginCanceling(resource.id, app.now()), ...endCredentials(app, ids)],
  });
  takeCredentialsBack(app, ids);
  return canceled;
}
