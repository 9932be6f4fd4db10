import { z } from 'zod';
import { userDefinition } from '../../iam/users/operations.ts';
import { IN_FIELDS } from '../../resource/field-errors.ts';
import { requireIdForm } from '../../resource/item-request.ts';
import { parseListRequest } from '../../resource/lists/query.ts';
import { itemAccess } from '../../resource/location.operations.ts';
import { type AnyBoundaryRoute, boundaryRoute } from '../../resource/route.ts';
import { listSchema } from '../../resource/routes.ts';
import { listResolvableAliases, resolvableAlias } from './operations.ts';

export const resolvableAliasRoutes: readonly AnyBoundaryRoute[] = [
  boundaryRoute({
    id: 'list-resolvable-aliases-user',
    method: 'GET',
    on_any_thread: true,
    path: '/v1/users/{id}:list-resolvable-aliases',
    summary: 'List the aliases that lead a user to targets',
    access: itemAccess(userDefinition, 'list-resolvable-aliases'),
    input: z.object({}),
    output: listSchema(resolvableAlias),
    failures: ['invalid', 'conflict', 'unauthenticated', 'forbidden', 'not_found'],
    audit: ['version'],
    check: ({ id, query }) => {
      requireIdForm(userDefinition, id, 'Incorrectly formatted identifier.', IN_FIELDS);
      return parseListRequest(query, 'scope_id');
    },
    run: async (app, caller, { checked }, { resource }) => ({
      body: await listResolvableAliases(app, caller, resource, checked),
    }),
  }),
];
