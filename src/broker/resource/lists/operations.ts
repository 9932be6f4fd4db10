import { createHash } from 'node:crypto';
import { listInTurn } from '../../../access/concurrency/walks.operations.ts';
import type { App } from '../../../app/app.ts';
import { ANONYMOUS_USER, type BrokerCaller } from '../caller.ts';
import type { Expression } from '../filter/expression.ts';
import type { Kind, ResourceHandler } from '../handler.ts';
import type { Resource } from '../resource.ts';
import {
  emptyListAccess,
  isWide,
  type ListAccess,
  resolveListAccess,
} from './access.operations.ts';
import { estimate } from './counts.operations.ts';
import { type PageQuery, readPage } from './pages.operations.ts';
import { type ListRequest, parseListFilter } from './query.ts';
import { nameRemoved } from './removals.operations.ts';
import { type RemovalRange, readRemovedSequence } from './removals.store.ts';
import { decodeListToken, encodeListToken, type ListPhase } from './token.ts';

/** Changes this long before a listing are named again: their transactions may have ended since. */
const LOOK_BACK_MS = 30_000;

/**
 * Lists what the caller may see, page by page; afterwards what is new. Few are made at once: each holds what it looks at until it is made.
 *
 * @param options.keep leaves out items by their state, e.g. sessions that have ended: not of
 *   what is new, since that they came into this state is news. Part of what a list token is
 *   bound to
 */
export async function listResources<K extends Kind>(
  app: App,
  caller: BrokerCaller,
  definition: ResourceHandler<K>,
  asked: ListRequest,
  options: Keeping<K> = {},
): Promise<ListAnswer> {
  // Much may have to be passed over for what is picked out.
  const isLong =
    asked.filter !== '' ||
    options.keep !== undefined ||
    (await isWide(app, asked.place, asked.recursive));
  const make = () => listNow(app, caller, definition, asked, options);
  return listInTurn(app, caller, { isLong, isKnown: isKnown(caller), make });
}

/** A page of a list; the items are those that the caller may see, as they may see them. */
export interface ListAnswer {
  items?: readonly object[];
  response_type: 'delta' | 'complete';
  list_token?: string;
  sort_by: 'created_time' | 'updated_time';
  sort_dir: 'desc';
  removed_ids?: readonly string[];
  est_item_count?: number;
}

type Keeping<K extends Kind> = {
  keep?: { name: string; keeps(item: Resource<K['body']>): boolean };
};

/** As {@link listResources}, for who has a turn at making lists. */
export async function listNow<K extends Kind>(
  app: App,
  caller: BrokerCaller,
  definition: ResourceHandler<K>,
  asked: ListRequest,
  options: Keeping<K> = {},
): Promise<ListAnswer> {
  const { place, recursive } = asked;
  const sight = await resolveListAccess(app, caller, definition, place, recursive);
  return listSeen(app, caller, definition, {
    asked,
    filter: parseListFilter(asked),
    sight,
    query: `${place} ${recursive} ${options.keep?.name ?? ''}`,
    ...options,
  });
}

/** Whether a list is made for somebody, and not for whoever comes. */
export const isKnown = ({ who }: BrokerCaller): boolean => who.user_id !== ANONYMOUS_USER;

/** A list of what is picked by other means than grants on the items themselves. */
interface PickedList<K extends Kind> {
  /** What holds the items. */
  container_id: string;
  /** What a list token is bound to, besides the type. */
  name: string;
  /** Text that changes when what may be seen does. */
  fingerprint: string;
  /** Items as they are shown, one for each row; `undefined` for those that are left out. */
  show(rows: readonly Resource<K['body']>[]): Promise<readonly (object | undefined)[]>;
}

/** Lists what is picked out of one container, page by page; afterwards what is new. */
export async function listPicked<K extends Kind>(
  app: App,
  caller: BrokerCaller,
  definition: ResourceHandler<K>,
  asked: ListRequest,
  picked: PickedList<K>,
): Promise<ListAnswer> {
  const { container_id, name, fingerprint, show } = picked;
  const sight = { ...emptyListAccess(), all: [container_id], listed: new Set([container_id]) };
  const make = async (): Promise<ListAnswer> => {
    const filter = parseListFilter(asked);
    const list = { asked, filter, sight, query: name, fingerprint, show };
    return listSeen(app, caller, definition, list);
  };
  return listInTurn(app, caller, { isLong: true, isKnown: isKnown(caller), make });
}

interface SeenList<K extends Kind> extends Keeping<K> {
  asked: ListRequest;
  filter: Expression | undefined;
  sight: ListAccess;
  query: string;
  fingerprint?: string;
  show?: PickedList<K>['show'];
}

/** Lists items out of what is seen; the part that does not care how that was found out. */
async function listSeen<K extends Kind>(
  app: App,
  caller: BrokerCaller,
  definition: ResourceHandler<K>,
  list: SeenList<K>,
): Promise<ListAnswer> {
  const { asked, sight } = list;
  const { type } = definition;
  const now = app.now();
  const binding = {
    type,
    query: list.query,
    grants: createHash('sha256')
      .update(list.fingerprint ?? (await caller.who.authority.fingerprint(type)))
      .update(caller.who.user_id)
      .digest('base64url'),
  };
  const mac = (text: string): Uint8Array => app.barrier.hmac('token', `list:${text}`);
  const state =
    asked.list_token === '' ? undefined : decodeListToken(asked.list_token, binding, now, mac);
  const step = await planStep(app, state?.phase, now);
  const removed_ids = step.removed ? await nameRemoved(app, type, step.removed, sight) : [];
  const { found, more } = await readPage(app, caller, definition, { ...list, step });
  const page = more ? found.slice(0, -1) : found;
  const last = page.at(-1);
  const phase: ListPhase =
    more && last
      ? { ...step.next, last: last.place }
      : { at: 'complete', bound_ms: step.next.started_ms, removed: step.next.removed };
  const onePage = state === undefined && !more;
  const count = onePage ? page.length : await estimate(app, type, sight.listed);
  const giveToken = state !== undefined || page.length > 0;
  return {
    ...(page.length > 0 ? { items: page.map(({ shown }) => shown) } : {}),
    response_type: more ? 'delta' : 'complete',
    ...(giveToken
      ? { list_token: encodeListToken({ ...binding, created_ms: now, phase }, mac) }
      : {}),
    sort_by: step.order === 'created_ms' ? 'created_time' : 'updated_time',
    sort_dir: 'desc',
    ...(removed_ids.length > 0 ? { removed_ids } : {}),
    ...(count > 0 ? { est_item_count: count } : {}),
  };
}

/** What one call reads, and what its token says if the page is not the last. */
interface Step extends PageQuery {
  next:
    | { at: 'page'; started_ms: number; removed: number }
    | { at: 'refresh'; bound_ms: number; started_ms: number; removed: number };
  /** Removals to name; only on the first page of a refresh. */
  removed?: RemovalRange;
}

async function planStep(app: App, phase: ListPhase | undefined, now: number): Promise<Step> {
  if (phase === undefined) {
    const removed = await readRemovedSequence(app.db);
    return {
      order: 'created_ms',
      before: undefined,
      after_ms: 0,
      next: { at: 'page', started_ms: now, removed },
    };
  }
  switch (phase.at) {
    case 'page': {
      const { last, started_ms, removed } = phase;
      return {
        order: 'created_ms',
        before: last,
        after_ms: 0,
        next: { at: 'page', started_ms, removed },
      };
    }
    case 'complete': {
      const upTo = await readRemovedSequence(app.db);
      const { bound_ms } = phase;
      return {
        order: 'updated_ms',
        before: undefined,
        after_ms: bound_ms - LOOK_BACK_MS,
        next: { at: 'refresh', bound_ms, started_ms: now, removed: upTo },
        removed: { after: phase.removed, upTo },
      };
    }
    case 'refresh': {
      const { last, bound_ms, started_ms, removed } = phase;
      return {
        order: 'updated_ms',
        before: last,
        after_ms: bound_ms - LOOK_BACK_MS,
        next: { at: 'refresh', bound_ms, started_ms, removed },
      };
    }
  }
}
