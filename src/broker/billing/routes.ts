import { z } from 'zod';
import { globalAccess } from '../resource/location.operations.ts';
import { type AnyBoundaryRoute, boundaryRoute } from '../resource/route.ts';
import { activeUsers, listActiveUsers } from './operations.ts';

const month = (about: string) => z.string().optional().describe(`${about}, such as 2026-01.`);

export const billingRoutes: readonly AnyBoundaryRoute[] = [
  boundaryRoute({
    id: 'list-monthly-active-users',
    method: 'GET',
    on_any_thread: true,
    path: '/v1/billing:monthly-active-users',
    summary: 'Count the users who had sessions, by month',
    access: globalAccess('billing', 'monthly-active-users'),
    input: z.object({}),
    query: z.object({
      start_time: month('The first month'),
      end_time: month('The month after the last one'),
    }),
    output: activeUsers,
    failures: ['invalid', 'unauthenticated', 'forbidden'],
    check: ({ query }) => ({
      start_time: query.get('start_time') ?? '',
      end_time: query.get('end_time') ?? '',
    }),
    run: async (app, _caller, { checked }) => ({ body: await listActiveUsers(app, checked) }),
  }),
];
