import { z } from 'zod';
import { leaseReply } from '../../../app/lease.ts';
import { accepted, either, leaseOutput, nothing, type Output } from '../../../app/output.ts';
import { type AnyRoute, type Route, type SetElsewhere, vaultRoute } from '../../../app/route.ts';
import { duration, flag, text } from '../../../core/fields.ts';
import {
  listLeases,
  lookUpLease,
  readLeaseCount,
  renewLease,
  revokeLease,
  revokePrefix,
  tidyLeases,
} from './operations.ts';

const lease_id = text('').describe('The lease, as it was answered with what it stands for.');
const prefix = text('').describe('Path that the leases were made at, or the beginning of it.');
const sync = flag(true).describe('Answer when all is revoked; otherwise at once, with 202.');
const increment = duration(0).describe('How long it shall last from now on. Seconds.');
const path_forms = { lease_id: /^[^/].*$/, prefix: /^[^/].*$/ };

const leaseCounts = z.object({
  lease_count: z.int(),
  counts: z.record(z.string(), z.int()).describe('By the path of the mount.'),
});

/** The endpoints of old are right under `sys/`. */
const BASES = ['/v1/sys/leases', '/v1/sys'] as const;
type Base = (typeof BASES)[number];

const otherOf = (base: Base): Base => (base === '/v1/sys' ? '/v1/sys/leases' : '/v1/sys');

/** The same endpoint with the lease in the body, and at the end of the path. */
function inBodyAndPath<In extends z.ZodObject, Out extends Output>(
  base: Base,
  action: 'renew' | 'revoke',
  route: Omit<Route<In, Out>, 'method' | 'path' | 'access'>,
): AnyRoute[] {
  const access = { capability: 'update' } as const;
  const whole = { ...route, method: 'POST', access } as const;
  const fields = Object.keys(route.input.shape);
  const inBody = (at: Base): SetElsewhere => ({ path: `${at}/${action}`, fields, when: [] });
  return [
    vaultRoute({ ...whole, path: `${base}/${action}`, sets_also: [inBody(otherOf(base))] }),
    vaultRoute({
      ...whole,
      id: `${route.id}-by-path`,
      path: `${base}/${action}/{lease_id+}`,
      path_forms,
      sets_also: BASES.map(inBody),
    }),
  ];
}

const beneathPrefix = (base: Base, action: 'revoke-prefix' | 'revoke-force'): SetElsewhere => ({
  path: `${base}/${action}/{prefix+}`,
  fields: action === 'revoke-prefix' ? ['sync'] : [],
  when: [],
});

/** Endpoints that exist under `sys/leases/` and, for clients of old, right under `sys/`. */
function endings(base: Base, id: string): AnyRoute[] {
  const beneath = {
    method: 'POST',
    access: { capability: 'update', sudo: true },
    path_forms,
    audit: ['prefix', 'sync'],
    output: either(nothing, accepted),
  } as const;
  return [
    ...inBodyAndPath(base, 'renew', {
      id: `${id}-renew-lease`,
      summary: 'Renew a lease',
      audit: ['lease_id', 'increment'],
      input: z.object({ lease_id, increment }),
      output: leaseOutput,
      failures: ['invalid'],
      run: renewLease,
    }),
    ...inBodyAndPath(base, 'revoke', {
      id: `${id}-revoke-lease`,
      summary: 'Revoke a lease and what it stands for',
      audit: ['lease_id', 'sync'],
      input: z.object({ lease_id, sync }),
      output: either(nothing, accepted),
      failures: ['invalid'],
      run: revokeLease,
    }),
    vaultRoute({
      ...beneath,
      id: `${id}-revoke-lease-with-prefix`,
      path: `${base}/revoke-prefix/{prefix+}`,
      summary: 'Revoke all leases made beneath a path',
      sets_also: [beneathPrefix(otherOf(base), 'revoke-prefix')],
      input: z.object({ prefix, sync }),
      failures: ['unavailable'],
      run: (app, caller, input) => revokePrefix(app, caller, { ...input, force: false }),
    }),
    vaultRoute({
      ...beneath,
      id: `${id}-force-revoke-lease-with-prefix`,
      path: `${base}/revoke-force/{prefix+}`,
      summary: 'Drop all leases made beneath a path, whatever becomes of what they stand for',
      // It does what the gentler endpoint does, and more.
      sets_also: [
        beneathPrefix(otherOf(base), 'revoke-force'),
        ...BASES.map((at) => ({ ...beneathPrefix(at, 'revoke-prefix'), fields: [] })),
      ],
      input: z.object({ prefix }),
      failures: [],
      run: (app, caller, input) => revokePrefix(app, caller, { ...input, sync: true, force: true }),
    }),
  ];
}

export const leaseRoutes: readonly AnyRoute[] = [
  ...endings('/v1/sys/leases', 'leases'),
  ...endings('/v1/sys', 'old'),
  vaultRoute({
    id: 'leases-look-up',
    on_any_thread: true,
    method: 'POST',
    path: '/v1/sys/leases/lookup',
    summary: 'Look up a lease',
    access: { capability: 'update' },
    audit: ['lease_id'],
    input: z.object({ lease_id }),
    output: leaseReply,
    failures: ['invalid'],
    run: lookUpLease,
  }),
  vaultRoute({
    id: 'leases-list',
    on_any_thread: true,
    method: 'LIST',
    path: '/v1/sys/leases/lookup',
    summary: 'List the first segments of lease ids',
    access: { capability: 'list', sudo: true },
    input: z.object({}),
    output: z.object({ keys: z.array(z.string()) }),
    failures: ['not_found', 'rate_limited'],
    run: (app, caller) => listLeases(app, caller, { prefix: '' }),
  }),
  vaultRoute({
    id: 'leases-list-beneath',
    on_any_thread: true,
    method: 'LIST',
    path: '/v1/sys/leases/lookup/{prefix+}',
    summary: 'List the next segments of lease ids beneath a path',
    access: { capability: 'list', sudo: true },
    path_forms,
    input: z.object({ prefix }),
    output: z.object({ keys: z.array(z.string()) }),
    failures: ['not_found', 'rate_limited'],
    run: listLeases,
  }),
  vaultRoute({
    id: 'leases-count',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/sys/leases/count',
    summary: 'Count the leases, in all and by mount',
    access: { capability: 'read', sudo: true },
    input: z.object({}),
    output: leaseCounts,
    failures: [],
    run: (app) => readLeaseCount(app),
  }),
  vaultRoute({
    id: 'leases-tidy',
    method: 'POST',
    path: '/v1/sys/leases/tidy',
    summary: 'End the leases that are due at once',
    access: { capability: 'update', sudo: true },
    input: z.object({}),
    output: nothing,
    status: 202,
    failures: [],
    run: tidyLeases,
  }),
];
