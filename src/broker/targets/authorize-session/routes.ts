import { z } from 'zod';
import { FieldErrors, IN_FIELDS } from '../../resource/field-errors.ts';
import { type AnyBoundaryRoute, boundaryRoute } from '../../resource/route.ts';
import { authorization } from './answer.ts';
import { isWithoutSources, locateTarget, resolveDestination } from './destination.operations.ts';
import { authorizeSession } from './operations.ts';
import { checkWanted, parseTargetRef } from './request.ts';

export const authorizeSessionRoutes: readonly AnyBoundaryRoute[] = [
  boundaryRoute({
    id: 'authorize-session-target',
    method: 'POST',
    on_any_thread: isWithoutSources,
    path: '/v1/targets/{id}:authorize-session',
    summary: 'Authorize a session',
    access: {
      action: 'authorize-session',
      type: 'target',
      named_by: ['name', 'scope_id', 'scope_name', 'host_id'],
      locate: locateTarget,
    },
    input: z.object({
      name: z.string().optional().describe('The name of the target, when the path has it.'),
      scope_id: z.string().optional().describe('Project of the named target.'),
      scope_name: z.string().optional().describe('The same by name.'),
      host_id: z.string().optional().describe('One of the hosts of the target; any unless given.'),
    }),
    output: authorization,
    failures: [
      'invalid',
      'unauthenticated',
      'forbidden',
      'not_found',
      'precondition',
      'unresolved',
    ],
    audit: ['name', 'scope_id', 'scope_name', 'host_id'],
    resolve: resolveDestination,
    check({ id, item }) {
      const errors = new FieldErrors();
      const wanted = parseTargetRef(item);
      checkWanted(id, wanted, errors);
      errors.refuse(IN_FIELDS);
      return wanted;
    },
    run: async (app, caller, { checked: { name, host_id } }, { resource: target, scope }) => ({
      body: await authorizeSession(app, caller, { target, scope, name, host_id }),
    }),
  }),
];
