import type { App } from '../../app/app.ts';
import { type Action, ownAction } from '../../broker/resource/actions.ts';
import { type BrokerCaller, refuseCaller } from '../../broker/resource/caller.ts';
import { IN_REQUEST, refuseField, TWICE } from '../../broker/resource/field-errors.ts';
import type { GrantVerdict, OutputFields } from '../../broker/resource/grants/verdict.ts';
import { USUAL_WORDS } from '../../broker/resource/handler.ts';
import { isIdOf } from '../../broker/resource/ids.ts';
import type {
  AnyBoundaryRoute,
  BoundaryReference,
  CheckedRequest,
  Located,
  LocatedAccess,
} from '../../broker/resource/route.ts';
import { Failure } from '../../core/failure.ts';
import { type Soon, whenThere } from '../../core/steps.ts';
import type { Exchange, Permitted } from '../dialect.ts';
import { type RequestContext, traceInput } from '../request-record.ts';
import { type BoundaryAsker, findAgain, letGo, standingOf } from './asker.ts';
import { checkFields, type NamedFields, parseBoundaryBody, pickReferences } from './body.ts';
import { recordedOf } from './recorded.ts';
import type { FoundRoute } from './routing.ts';

const MAX_BODY = 1024 * 1024;
/** Of nobody in particular, e.g. of a log-in. */
const ANONYMOUS_BODY = 64 * 1024;

/** A request as far as it is read before it is permitted: its path and its query. */
export interface Bare {
  route: AnyBoundaryRoute;
  /** Absent where no item is located before it is run. */
  access: LocatedAccess | undefined;
  /** Without fields. */
  request: BoundaryReference;
}

/** One that is about something. */
interface LocatedBare extends Bare {
  access: LocatedAccess;
}

/** A request that is permitted. */
export interface BoundaryPermitted extends Permitted {
  caller: BrokerCaller;
  route: AnyBoundaryRoute;
  request: CheckedRequest;
  located: Located | undefined;
  /** Fields of the item that may be shown at this moment. */
  visible(): OutputFields;
}

/** Whether the action could be granted on anything; asked before a body is read. */
export function requirePossible(
  app: App,
  { request: { url } }: Exchange,
  { route, id }: FoundRoute,
  { caller }: BoundaryAsker,
): Soon<Bare> {
  const request = { id, item: {}, mask: [], query: queryOf(url) };
  const { access } = route;
  if (access === 'public' || 'lists' in access) return { route, access: undefined, request };
  const bare = { route, access, request };
  return hasBody(route) ? whenThere(requireGrantable(app, caller, bare), () => bare) : bare;
}

/** The body's fields, for a caller who could be granted the action. */
export function readFields(
  app: App,
  exchange: Exchange,
  { route, access, request }: Bare,
  asker: BoundaryAsker,
): Soon<NamedFields> {
  if (!access || !hasBody(route)) return {};
  return readBody(app, exchange, { route, access, request }, asker);
}

async function readBody(
  app: App,
  { request: http, has_come, trace }: Exchange,
  bare: LocatedBare,
  asker: BoundaryAsker,
): Promise<NamedFields> {
  const { caller } = asker;
  const { route } = bare;
  const isUnauthenticated = caller.who.grants.asker === 'anonymous';
  const most = isUnauthenticated ? ANONYMOUS_BODY : MAX_BODY;
  const limit = Math.min(most, route.max_body ?? most);
  // A body may take its time, and what is granted may be much to hold meanwhile.
  if (!has_come) letGo(asker, trace);
  const bytes = await http.readBody(limit);
  if (!has_come) {
    await findAgain(asker, trace);
    await requireGrantable(app, caller, bare);
  }
  return parseBoundaryBody(bytes, route, { isUnauthenticated, keep: (kept) => http.keep(kept) });
}

/** No more is looked at before a request is permitted than it takes to tell what it is about. */
export function permit(
  app: App,
  { trace }: Exchange,
  { route, access, request }: Bare,
  asker: BoundaryAsker,
  fields: NamedFields,
): Soon<BoundaryPermitted> {
  if (access) return permitLocated(app, trace, { route, access, request }, asker, fields);
  const checked = { ...request, checked: route.check?.(request) };
  return {
    caller: asker.caller,
    route,
    request: checked,
    located: undefined,
    visible: () => 'all',
  };
}

async function permitLocated(
  app: App,
  trace: RequestContext,
  { route, access, request }: LocatedBare,
  asker: BoundaryAsker,
  fields: NamedFields,
): Promise<BoundaryPermitted> {
  const { caller } = asker;
  const named = { ...request, item: pickReferences(fields, access.named_by) };
  traceInput(trace, named.item);
  const resolved = route.resolve ? await route.resolve(app, named) : named;
  const check = (): CheckedRequest => {
    const update_mask = resolved.query.getAll('update_mask');
    const { item, mask } = hasBody(route) ? checkFields(route, fields, update_mask) : resolved;
    traceInput(trace, recordedOf(route, resolved.query, item, mask));
    const read = { ...resolved, item: { ...item, ...resolved.item }, mask };
    return { ...read, checked: route.check?.(read) };
  };
  let located: Located;
  try {
    located = await access.locate(app, caller, resolved);
  } catch (error) {
    // A faulty request is refused as such before it is said that the item does not exist.
    if (error instanceof Failure) check();
    throw error;
  }
  const permitted = judge(caller, located, access.action);
  if (!permitted.authorized) throw refuseCaller(caller);
  let { output_fields } = permitted;
  caller.standing = standingOf(asker, async (again) => {
    const present = await access.locate(app, again, resolved);
    const verdict = judge(again, present, access.action);
    if (!verdict.authorized) throw refuseCaller(again);
    output_fields = verdict.output_fields;
  });
  return { caller, route, request: check(), located, visible: () => output_fields };
}

const hasBody = ({ method }: AnyBoundaryRoute): boolean => method === 'POST' || method === 'PATCH';

/** @throws Failure `invalid` for a field that comes twice, of which a proxy may read the other */
function queryOf(url: string): URLSearchParams {
  const mark = url.indexOf('?');
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
  const names = new Set<string>();
  for (const name of query.keys()) {
    // The one that is a list.
    if (name === 'update_mask') continue;
    if (names.has(name)) refuseField(name, TWICE, IN_REQUEST);
    names.add(name);
  }
  return query;
}

/**
 * That a path names nothing is told to everybody, also to whom nothing could be granted.
 *
 * @throws Failure as the request would be refused if nobody read its body
 */
function requireGrantable(app: App, caller: BrokerCaller, bare: LocatedBare): Soon<void> {
  const { type, action } = bare.access;
  return caller.who.grants.mayAllow(type, action) ? undefined : refuse(app, caller, bare);
}

async function refuse(
  app: App,
  caller: BrokerCaller,
  { route, access, request }: LocatedBare,
): Promise<never> {
  if (request.id !== '' && !access.named_by) {
    const resolved = (await route.resolve?.(app, request)) ?? request;
    if (!isIdOf(resolved.id, access.type)) refuseField('id', USUAL_WORDS.malformedRead, IN_REQUEST);
    await access.locate(app, caller, resolved);
  }
  throw refuseCaller(caller);
}

/** The verdict on an action, or on its `:self` form where the thing is the caller's own. */
function judge(caller: BrokerCaller, located: Located, action: Action): GrantVerdict {
  const { grants, user_id } = caller.who;
  const asked = {
    scope_id: located.scope.id,
    parent_scope_id: located.scope.parent_scope_id,
    type: located.type,
    id: located.id,
    pin: located.pin,
  };
  const verdict = grants.judge({ ...asked, action });
  if (verdict.authorized || located.owner_id !== user_id) return verdict;
  const own = ownAction(action);
  return own ? grants.judge({ ...asked, action: own }) : verdict;
}
