import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { startWalk } from '../../access/walks/operations.ts';
import type { App } from '../../app.ts';
import { perApp } from '../../app.ts';
import { Breath } from '../../core/breath.ts';
import { Failure } from '../../core/failure.ts';
import type { ReadPage } from '../../core/walk.ts';
import { type BrokerCaller, refuseCaller } from '../caller.ts';
import type { Definition } from '../definition.ts';
import { IN_REQUEST, refuseField } from '../field-errors.ts';
import { type Expression, parseExpression } from '../filter/expression.ts';
import { FilterMeter } from '../filter/meter.ts';
import type { OutputFields } from '../grants/decision.ts';
import type { Resource } from '../resource.ts';
import { RESOURCE_TYPES, scopeTypeOf } from '../resource-types.ts';
import { describeResources, requireResource, visibleFields } from '../resources/operations.ts';
import { readScopeTree, requireScope } from '../tree/operations.ts';
import { listSubtree } from '../tree/tree.ts';
import {
  countAll,
  countUpTo,
  type ListOrder,
  listInContainers,
  listNamed,
  listOwnedIn,
  listRemoved,
  listRemovedScopes,
  mergeParts,
  type Part,
  readRemovedSequence,
  type Window,
} from './store.ts';
import { type Cursor, decodeListToken, encodeListToken, type ListPhase } from './token.ts';

/** The most items of a page, and their number unless the request says. */
export const MAX_PAGE_SIZE = 1000;

/** Changes this long before a listing are named again: their transactions may have ended since. */
const LOOK_BACK_MS = 30_000;

/** What a request lists. */
export interface ListQuery {
  page_size: number;
  filter: Expression | undefined;
  recursive: boolean;
  list_token: string;
}

const BAD_LIST = 'Improperly formatted identifier.';

/** @throws Failure `invalid` naming the parameter */
export function parsePaging(query: URLSearchParams): Omit<ListQuery, 'filter'> {
  const size = query.get('page_size') ?? '';
  const page_size = Number(size);
  if (!/^\d{0,9}$/.test(size) || page_size > MAX_PAGE_SIZE) {
    refuseField(
      'page_size',
      `This must be a whole number from 1 to ${MAX_PAGE_SIZE}, or absent.`,
      IN_REQUEST,
    );
  }
  const recursive = query.get('recursive') ?? '';
  if (!/^(|0|1|t|f|true|false)$/i.test(recursive)) {
    refuseField('recursive', 'This must be true or false.', IN_REQUEST);
  }
  return {
    page_size: page_size || MAX_PAGE_SIZE,
    recursive: /^(1|t|true)$/i.test(recursive),
    list_token: query.get('list_token') ?? '',
  };
}

/**
 * Reads what of a list is wanted: an expression that is costly to read, so only once the caller
 * may list at all.
 *
 * @throws Failure `invalid` naming the parameter
 */
function parseListQuery(query: URLSearchParams): ListQuery {
  const paging = parsePaging(query);
  const text = query.get('filter') ?? '';
  const parsed = text === '' ? undefined : parseExpression(text);
  if (parsed?.valid === false) {
    refuseField('filter', `This field could not be parsed. ${parsed.because}.`, BAD_LIST);
  }
  return { ...paging, filter: parsed?.valid ? parsed.expression : undefined };
}

/** Which items a caller may see, container by container. */
interface Sight {
  /** Containers of which everything is seen. */
  all: string[];
  /** Containers of which the caller sees what is theirs. */
  own: string[];
  /** Single items that are seen, by the container that they must lie in. */
  named: Map<string, readonly ReadonlySet<string>[]>;
  /** Every container that is listed, whatever is seen of it. */
  listed: Set<string>;
  /** Whether things in a scope that is gone were listed, too. */
  listedIn(scope_id: string, parent_scope_id: string): boolean;
  /** Fields that may be shown, by scope. */
  fields: Map<string, OutputFields>;
  /** How many containers of the kind there are in all. */
  of: number;
}

/**
 * Lists what the caller may see, page by page; afterwards what is new.
 *
 * @param options.keep leaves out items by their state, e.g. sessions that have ended: not of
 *   what is new, since that they came into this state is news. Part of what a list token is
 *   bound to
 */
export async function listResources(
  app: App,
  caller: BrokerCaller,
  definition: Definition,
  query: URLSearchParams,
  options: { keep?: { name: string; keeps(item: Resource): boolean } } = {},
): Promise<Record<string, unknown>> {
  const { recursive } = parsePaging(query);
  const place = query.get(definition.containerField) ?? '';
  const sight = await lookAround(app, caller, definition, place, recursive);
  const asked = parseListQuery(query);
  return listSeen(app, caller, definition, {
    asked,
    sight,
    query: `${place} ${asked.recursive} ${options.keep?.name ?? ''}`,
    ...options,
  });
}

/** A list of what is picked by other means than grants on the items themselves. */
export interface PickedList {
  /** What holds the items. */
  container_id: string;
  /** What a list token is bound to, besides the type. */
  name: string;
  /** Text that changes when what may be seen does. */
  fingerprint: string;
  /** Items as they are shown, one for each row; `undefined` for those that are left out. */
  show(rows: readonly Resource[]): Promise<readonly (Shape | undefined)[]>;
}

/** Lists what is picked out of one container, page by page; afterwards what is new. */
export async function listPicked(
  app: App,
  caller: BrokerCaller,
  definition: Definition,
  query: URLSearchParams,
  picked: PickedList,
): Promise<Record<string, unknown>> {
  const { container_id, name, fingerprint, show } = picked;
  const sight = { ...emptySight(), all: [container_id], listed: new Set([container_id]) };
  const list = { asked: parseListQuery(query), sight, query: name, fingerprint, show };
  return listSeen(app, caller, definition, list);
}

type Shape = Readonly<Record<string, unknown>>;

interface SeenList {
  asked: ListQuery;
  sight: Sight;
  query: string;
  keep?: { name: string; keeps(item: Resource): boolean };
  fingerprint?: string;
  show?: PickedList['show'];
}

/** Lists items out of what is seen; the part that does not care how that was found out. */
async function listSeen(
  app: App,
  caller: BrokerCaller,
  definition: Definition,
  list: SeenList,
): Promise<Record<string, unknown>> {
  const { asked, sight } = list;
  const { type } = definition;
  const now = app.now();
  const binding = {
    type,
    query: list.query,
    grants: createHash('sha256')
      .update(list.fingerprint ?? caller.who.authority.fingerprint(type))
      .update(caller.who.user_id)
      .digest('base64url'),
  };
  const mac = (text: string): Uint8Array => app.barrier.hmac('token', `list:${text}`);
  const state =
    asked.list_token === '' ? undefined : decodeListToken(asked.list_token, binding, now, mac);
  const step = await planStep(app, state?.phase, now);
  const { found, more } = await readPage(app, caller, definition, { ...list, step });
  const page = more ? found.slice(0, -1) : found;
  const last = page.at(-1);
  const phase: ListPhase =
    more && last
      ? { ...step.next, last: last.place }
      : { at: 'complete', bound_ms: step.next.started_ms, removed: step.next.removed };
  const removed_ids = step.removed ? await nameRemoved(app, type, step.removed, sight) : [];
  const onePage = state === undefined && !more;
  const count = onePage ? page.length : await estimate(app, definition, sight);
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

/** What went since an earlier list, out of what was listed: also with a scope that went whole. */
async function nameRemoved(
  app: App,
  type: Definition['type'],
  range: { after: number; upTo: number },
  sight: Sight,
): Promise<string[]> {
  const listed = new Set(sight.listed);
  for (const { id, container_id } of await listRemovedScopes(app.db, range)) {
    if (sight.listedIn(id, container_id)) listed.add(id);
  }
  return listRemoved(app.db, type, range, listed);
}

/** What one call reads, and what its token says if the page is not the last. */
interface Step {
  order: ListOrder;
  before: Cursor | undefined;
  after_ms: number;
  next:
    | { at: 'page'; started_ms: number; removed: number }
    | { at: 'refresh'; bound_ms: number; started_ms: number; removed: number };
  /** Removals to name; only on the first page of a refresh. */
  removed?: { after: number; upTo: number };
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

interface Shown {
  place: Cursor;
  shown: Shape;
}

/** Items in order. */
interface ListPage {
  found: Shown[];
  /** Whether the last of them is the first of the next page. */
  more: boolean;
}

/** The most bytes of items that a page shows, but for two items that have more. */
const MOST_SHOWN = 8 * 1024 * 1024;
/** What rows have at most whose bytes need not be counted: a page of them has less than that anyway. */
const SHORT = 4 * 1024;

/** Items that are looked at, by a filter too, before others get their turn. */
const ROUND = 200;

/** A page of items that match, and one more if there is one; fewer than asked for where they are long. */
async function readPage(
  app: App,
  caller: BrokerCaller,
  definition: Definition,
  list: SeenList & { step: Step },
): Promise<ListPage> {
  const { asked, sight, step } = list;
  const keep = step.order === 'created_ms' ? list.keep : undefined;
  const wanted = asked.page_size + 1;
  const show = list.show ?? ((rows) => showToCaller(app, caller, definition, sight, rows));
  const filter = asked.filter && new FilterMeter(asked.filter);
  const read = startWalk(app, caller);
  const found: Shown[] = [];
  let bytes = 0;
  let before = step.before;
  for (let round = 0; ; round++) {
    // Much may have to be passed over; others get their turn in between.
    if (round > 0) await nextTurn();
    const window: Window = {
      type: definition.type,
      order: step.order,
      before,
      after_ms: step.after_ms,
      limit: asked.filter || keep || list.show ? ROUND : wanted,
    };
    const part = await readRows(app, caller, sight, window, read);
    const { rows } = part;
    const isLong = part.bytes > rows.length * SHORT;
    const kept = keep ? rows.filter((row) => keep.keeps(row)) : rows;
    const shapes = await show(kept);
    for (const [at, resource] of kept.entries()) {
      const shown = shapes[at];
      if (shown === undefined) continue;
      if (filter?.takeTurn()) await nextTurn();
      if (filter && !isAdmitted(filter, shown)) continue;
      found.push({ place: { ms: resource[step.order], id: resource.id }, shown });
      if (isLong) bytes += JSON.stringify(shown).length;
      if (found.length === wanted) return { found, more: true };
      if (bytes > MOST_SHOWN && found.length > 1) return { found, more: true };
    }
    if (!part.end) return { found, more: false };
    before = part.end;
  }
}

/** @throws Failure `invalid` for a filter that costs too much: what it would say is not known */
function isAdmitted(filter: FilterMeter, item: Shape): boolean {
  const verdict = filter.judge({ item });
  if ('fault' in verdict && verdict.fault === 'exhausted') {
    refuseField('filter', `${verdict.because}.`, BAD_LIST);
  }
  return verdict.matches;
}

async function showToCaller(
  app: App,
  caller: BrokerCaller,
  definition: Definition,
  sight: Sight,
  rows: readonly Resource[],
): Promise<(Shape | undefined)[]> {
  const items = await describeResources(app, caller, definition, rows, 'list');
  return rows.map(({ scope_id }, at) => {
    const item = items[at];
    // A thing on which nothing may be done is not seen at all.
    return item?.authorized_actions
      ? visibleFields(item, sight.fields.get(scope_id) ?? 'all')
      : undefined;
  });
}

async function readRows(
  app: App,
  caller: BrokerCaller,
  sight: Sight,
  window: Window,
  read: ReadPage,
): Promise<Part> {
  const sources: Promise<Part>[] = [];
  if (sight.all.length > 0) {
    // Where much is seen, or only what is new is asked, walking the type in order reads least.
    const walk = sight.all.length > 1 && (window.after_ms > 0 || sight.all.length * 4 >= sight.of);
    const share = Math.min(1, sight.all.length / Math.max(1, sight.of));
    sources.push(listInContainers(app.db, sight.all, window, { walk, share }, read));
  }
  if (sight.own.length > 0) {
    sources.push(listOwnedIn(app.db, caller.who.user_id, sight.own, window, read));
  }
  if (sight.named.size > 0) {
    const ids = uniteSets(sight.named.values());
    const isSeen = (row: { id: string; container_id: string }): boolean =>
      sight.named.get(row.container_id)?.some((ids) => ids.has(row.id)) ?? false;
    sources.push(listNamed(app.db, [...ids], isSeen, window));
  }
  return mergeParts(await Promise.all(sources), window);
}

function uniteSets(named: Iterable<readonly ReadonlySet<string>[]>): ReadonlySet<string> {
  // Where the same grants apply it is the same set.
  const sets = new Set<ReadonlySet<string>>();
  for (const some of named) for (const ids of some) sets.add(ids);
  const [first, ...others] = sets;
  if (!first || others.length === 0) return first ?? new Set();
  const all = new Set(first);
  for (const other of others) for (const id of other) all.add(id);
  return all;
}

/**
 * Finds out what of the listed containers the caller may see (contract 4.4).
 *
 * @throws Failure `invalid`, `not_found`, `unauthenticated`, `forbidden`
 */
async function lookAround(
  app: App,
  caller: BrokerCaller,
  definition: Definition,
  place: string,
  recursive: boolean,
): Promise<Sight> {
  const { parent } = RESOURCE_TYPES[definition.type];
  if (parent !== undefined) return lookInto(app, caller, definition, { type: parent }, place);
  const { levels } = RESOURCE_TYPES[definition.type];
  const tree = await readScopeTree(app);
  await requireScope(app, place);
  const scopes = recursive ? listSubtree(tree, place) : [place];
  const sight = emptySight();
  const counted = new Set<string>();
  /** Whether a scope counts: by itself, by the one above it, or by the global one. */
  const counts = (scope_id: string, parent_scope_id: string) => {
    const at = { scope_id, parent_scope_id, type: definition.type };
    const verdict = caller.who.authority.judge({ ...at, action: 'list' });
    if (verdict.authorized) counted.add(scope_id);
    const inherits = recursive && (counted.has(parent_scope_id) || counted.has('global'));
    return verdict.authorized || inherits ? { at, verdict } : undefined;
  };
  const breath = new Breath();
  for (const scope_id of scopes) {
    await breath.take();
    const scope = tree.byId.get(scope_id);
    const found = scope && counts(scope_id, scope.parent_scope_id);
    if (!found) continue;
    if (definition.type === 'scope' ? scope_id.startsWith('p_') : !levels.includes(scope.type)) {
      continue;
    }
    sight.fields.set(scope_id, found.verdict.output_fields);
    see(sight, caller, definition, scope_id, found.at);
  }
  const within = new Set(scopes);
  sight.listedIn = (scope_id, parent_scope_id) => {
    if (!recursive || !within.has(parent_scope_id)) return false;
    within.add(scope_id);
    return counts(scope_id, parent_scope_id) !== undefined;
  };
  if (counted.size === 0) {
    // Upstream's clients know this one refusal of nobody in particular by 403.
    throw recursive ? new Failure('forbidden', 'Forbidden.') : refuseCaller(caller);
  }
  sight.of = [...tree.byId.keys()].filter((id) => levels.includes(scopeTypeOf(id))).length;
  return sight;
}

async function lookInto(
  app: App,
  caller: BrokerCaller,
  definition: Definition,
  parentType: Pick<Definition, 'type'>,
  parent_id: string,
): Promise<Sight> {
  const parent = await requireResource(app, parentType, parent_id);
  const scope = await requireScope(app, parent.scope_id);
  const at = {
    scope_id: scope.id,
    parent_scope_id: scope.parent_scope_id,
    type: definition.type,
  };
  const listed = caller.who.authority.judge({ ...at, action: 'list', pin: parent_id });
  if (!listed.authorized) throw refuseCaller(caller);
  const sight = emptySight();
  sight.fields.set(scope.id, listed.output_fields);
  see(sight, caller, definition, parent_id, at);
  return sight;
}

function emptySight(): Sight {
  return {
    all: [],
    own: [],
    named: new Map(),
    listed: new Set(),
    listedIn: () => false,
    fields: new Map(),
    of: 1,
  };
}

function see(
  sight: Sight,
  caller: BrokerCaller,
  definition: Definition,
  container_id: string,
  at: { scope_id: string; parent_scope_id: string; type: Definition['type'] },
): void {
  const { actions } = RESOURCE_TYPES[definition.type];
  const visible = caller.who.authority.describeVisibility(at, actions);
  sight.listed.add(container_id);
  if (visible.all || visible.pins.some((pins) => pins.has(container_id)))
    sight.all.push(container_id);
  else if (visible.own && actions.some((action) => action.endsWith(':self'))) {
    sight.own.push(container_id);
  }
  if (visible.ids.length > 0) sight.named.set(container_id, visible.ids);
}

const counts = perApp(() => new Map<string, { counted: number; until_ms: number }>());
const COUNT_LIFETIME_MS = 60_000;

/** About how many items there are in all, whoever may see them. */
async function estimate(app: App, definition: Definition, sight: Sight): Promise<number> {
  const [only, ...others] = sight.listed;
  const known = counts(app).get(definition.type);
  // What was too much to count is not counted again at once, up to where it is too much.
  if (others.length > 0 && known && known.until_ms > app.now()) return known.counted;
  const exact = await countUpTo(app.db, definition.type, others.length === 0 ? only : undefined);
  if (exact !== undefined) return exact;
  if (known && known.until_ms > app.now()) return known.counted;
  const counted = await countAll(app.db, definition.type);
  counts(app).set(definition.type, { counted, until_ms: app.now() + COUNT_LIFETIME_MS });
  return counted;
}
