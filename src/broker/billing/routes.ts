import { z } from 'zod';
import { type AnyBoundaryRoute, boundaryRoute } from '../resource/route.ts';
import { requireScope } from '../resource/scope-tree/operations.ts';
import { listActiveUsers } from './operations.ts';

const month = (about: string) => z.string().optional().describe(`${about}, such as 2026-01.`);

export const billingRoutes: readonly AnyBoundaryRoute[] = [
  boundaryRoute({
    id: 'list-monthly-active-users',
    method: 'GET',
    path: '/v1/billing:monthly-active-users',
    summary: 'Count the users who had sessions, by month',
    access: {
      action: 'monthly-active-users',
      type: 'billing',
      locate: async (app) => ({ type: 'billing', scope: await requireScope(app, 'global') }),
    },
    input: z.object({}),
    query: z.object({
      start_time: month('The first month'),
      end_time: month('The month after the last one'),
    }),
    output: z.record(z.string(), z.unknown()),
    failures: ['invalid', 'unauthenticated', 'forbidden'],
    run: async (app, _caller, { query }) => ({ body: await listActiveUsers(app, query) }),
  }),
];
