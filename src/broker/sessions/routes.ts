import type { BoundaryRoute } from '../../http/boundary-route.ts';
import { checkProjectList } from '../lists/query.ts';
import { isIdOf } from '../resource-types.ts';
import { standardRoutes, verbRoute } from '../resources/routes.ts';
import { cancelSession, listSessions, sessionDefinition } from './operations.ts';

export const sessionRoutes: readonly BoundaryRoute[] = [
  ...standardRoutes(sessionDefinition, {
    only: ['list', 'read'],
    checkList: checkProjectList,
    list: listSessions,
  }),
  verbRoute(sessionDefinition, 'cancel', {
    summary: 'Cancel a session',
    fields: {},
    check(_item, errors, id) {
      if (!isIdOf(id, 'session')) errors.add('id', 'Improperly formatted identifier.');
    },
    run: (app, caller, { resource, item }) =>
      cancelSession(app, caller, { resource, version: item.version ?? 0 }),
  }),
];
