import { z } from 'zod';
import { parseFlag } from '../resource/fields.ts';
import { isIdOf } from '../resource/ids.ts';
import { checkProjectList } from '../resource/lists/query.ts';
import type { AnyBoundaryRoute } from '../resource/route.ts';
import { shownRoutes } from '../resource/routes.ts';
import { actionRoute } from '../resource/verbs.routes.ts';
import { cancelSession, listSessions, sessionDefinition } from './operations.ts';

export const sessionRoutes: readonly AnyBoundaryRoute[] = [
  ...shownRoutes(sessionDefinition, {
    only: ['list', 'read'],
    checkList: checkProjectList,
    listQuery: {
      include_terminated: z.string().optional().describe('Also those that have ended.'),
    },
    list: (app, caller, asked, query) => {
      const include_terminated = parseFlag(query.get('include_terminated')) ?? false;
      return listSessions(app, caller, { ...asked, include_terminated });
    },
  }),
  actionRoute(sessionDefinition, 'cancel', {
    summary: 'Cancel a session',
    fields: {},
    check(_item, errors, id) {
      if (!isIdOf(id, 'session')) errors.add('id', 'Improperly formatted identifier.');
    },
    run: cancelSession,
  }),
];
