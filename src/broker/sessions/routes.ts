import { isIdOf } from '../resource/ids.ts';
import { checkProjectList } from '../resource/lists/query.ts';
import type { AnyBoundaryRoute } from '../resource/route.ts';
import { standardRoutes } from '../resource/routes.ts';
import { actionRoute } from '../resource/verbs.routes.ts';
import { cancelSession, listSessions, sessionDefinition } from './operations.ts';

export const sessionRoutes: readonly AnyBoundaryRoute[] = [
  ...standardRoutes(sessionDefinition, {
    only: ['list', 'read'],
    checkList: checkProjectList,
    list: listSessions,
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
