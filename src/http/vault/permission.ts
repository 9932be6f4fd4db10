import { requireAllowed } from '../../access/standing/operations.ts';
import type { AccessRequest } from '../../acl/access-request.ts';
import { type Acl, hasSameRules, judgeAccess, judgeBrought, judgeGrants } from '../../acl/acl.ts';
import type { Comparisons } from '../../acl/comparisons.ts';
import type { NamedPath } from '../../acl/name-form.ts';
import { type AccessVerdict, ALLOWED } from '../../acl/verdict.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { AnyRoute, Capability, Method } from '../../app/route.ts';
import { type Soon, whenThere } from '../../core/steps.ts';
import { judgeElsewhere } from './elsewhere.ts';
import { readerOf } from './parameters.ts';

/** A path as permission is judged by it. */
export type AskedPath = Required<NamedPath>;

/** What a request is permitted by, and what has been. */
export interface Permission {
  acl: NonNullable<Caller['acl']>;
  asked: AskedPath;
  method: Method;
  fields: Record<string, unknown>;
  params: Readonly<Record<string, string>>;
  /** Of all judging of the request. */
  budget: Comparisons;
  /** What has been permitted, so that it is not judged again unless something has changed. */
  permitted: { acl?: Acl; operation?: Capability };
}

/** Whether a request could be permitted: asked before its body is read. */
export function judgeGranted(
  acl: Acl,
  { access }: AnyRoute,
  { budget, ...asked }: AskedPath & Pick<Permission, 'budget'>,
): Soon<AccessVerdict> {
  if (access === 'public') return ALLOWED;
  const { capability, sudo, exists } = access;
  const judge = (operation: Capability): Soon<AccessVerdict> =>
    judgeGrants(acl, { ...asked, operation, sudoRequired: sudo ?? false }, budget);
  if (!exists) return judge(capability);
  // Whether the thing is there is asked once, right before it counts.
  return whenThere(judge('create'), (verdict) => (verdict.allowed ? verdict : judge(capability)));
}

/** Judges what a permitted request brings in another form than its fields. */
export function mayBring(
  acl: Acl | undefined,
  route: AnyRoute,
  asked: AskedPath & Pick<Permission, 'budget'>,
  list: () => Readonly<Record<string, unknown>>,
): Soon<boolean> {
  if (route.access === 'public' || !acl || acl.root) return true;
  const { capability, sudo = false } = route.access;
  const reader = readerOf(route);
  const parameters = list();
  const request = { ...asked, operation: capability, sudoRequired: sudo, parameters, reader };
  return whenThere(judgeBrought(acl, request), ({ allowed }) => allowed);
}

/** A whole request as policies judge it. */
export function accessRequest(
  route: AnyRoute,
  sent: Pick<Permission, 'asked' | 'fields' | 'budget'> & Pick<Caller, 'wrap_ttl'>,
  { operation, sudo = false }: { operation: Capability; sudo?: boolean | undefined },
): AccessRequest {
  const { asked, fields, wrap_ttl, budget } = sent;
  return {
    ...asked,
    operation,
    sudoRequired: sudo,
    parameters: fields,
    reader: readerOf(route),
    wrapTtl: wrap_ttl,
    budget,
  };
}

/** @throws Failure `forbidden` for what the caller may not do by now */
export function permit(app: App, caller: Caller, route: AnyRoute, asked: Permission): Soon<void> {
  const { access } = route;
  if (access === 'public') return;
  const { capability, sudo, exists } = access;
  return whenThere(exists?.(app, caller, asked.params), (found) => {
    const operation = found === false ? ('create' as const) : capability;
    const { acl, permitted } = asked;
    const isJudged = permitted.acl !== undefined && hasSameRules(permitted.acl, acl);
    if (isJudged && permitted.operation === operation) {
      caller.found = found;
      return;
    }
    const { fields, budget } = asked;
    const sent = { asked: asked.asked, fields, budget, wrap_ttl: caller.wrap_ttl };
    const judging = judgeAccess(acl, accessRequest(route, sent, { operation, sudo }));
    return whenThere(judging, (verdict) => {
      requireAllowed(verdict);
      return whenThere(route.sets_also && requireElsewhere(caller, route, asked), () => {
        Object.assign(permitted, { acl, operation });
        caller.found = found;
      });
    });
  });
}

async function requireElsewhere(
  { mount, wrap_ttl }: Caller,
  route: AnyRoute,
  { acl, params, fields, budget }: Permission,
): Promise<void> {
  const reader = readerOf(route);
  const request = { mount, params, fields, reader, wrapTtl: wrap_ttl, budget };
  requireAllowed(await judgeElsewhere(acl, route, request));
}
