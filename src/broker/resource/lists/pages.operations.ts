import { startWalk } from '../../../access/concurrency/walks.operations.ts';
import type { App } from '../../../app/app.ts';
import { nextBreath } from '../../../core/fairness/breath.ts';
import type { ReadPage } from '../../../core/walk.ts';
import { describeResources, visibleFields } from '../answers.operations.ts';
import type { BrokerCaller } from '../caller.ts';
import { refuseField } from '../field-errors.ts';
import type { Expression } from '../filter/expression.ts';
import { FilterMeter } from '../filter/meter.ts';
import type { ShownHandler } from '../handler.ts';
import type { Resource } from '../resource.ts';
import type { ListAccess } from './access.operations.ts';
import { listNamed } from './named.store.ts';
import { BAD_LIST, type ListRequest } from './query.ts';
import { listInContainers, listOwnedIn } from './store.ts';
import type { Cursor } from './token.ts';
import { type ListOrder, mergeParts, type PageRequest, type Part } from './window.ts';

/** From where on rows are read, in which order. */
export interface PageQuery {
  order: ListOrder;
  before: Cursor | undefined;
  after_ms: number;
}

/** What is listed, and how it is shown. */
interface PagedList {
  asked: ListRequest;
  filter: Expression | undefined;
  access: ListAccess;
  step: PageQuery;
  /** Leaves out items by their state, of a list in the order in which they were made. */
  keep?: { keeps(item: Resource): boolean };
  /** As the caller's grants say, unless it is given. */
  show?: (rows: readonly Resource[]) => Promise<readonly (object | undefined)[]>;
}

interface Shown {
  place: Cursor;
  shown: object;
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

/** Items that are shown, and looked at by a filter too, before others get their turn. */
const SCAN_BATCH = 200;

/** A page of items that match, and one more if there is one; fewer than asked for where they are long. */
export async function readPage(
  app: App,
  caller: BrokerCaller,
  definition: ShownHandler,
  list: PagedList,
): Promise<ListPage> {
  const { asked, access, step } = list;
  const keep = step.order === 'created_ms' ? list.keep : undefined;
  const wanted = asked.page_size + 1;
  const show = list.show ?? ((rows) => showToCaller(app, caller, definition, access, rows));
  const filter = list.filter && new FilterMeter(list.filter);
  const read = startWalk(app, caller);
  const found: Shown[] = [];
  let bytes = 0;
  let before = step.before;
  for (let round = 0; ; round++) {
    // Much may have to be passed over; others get their turn in between.
    if (round > 0) await nextBreath();
    const window: PageRequest = {
      type: definition.type,
      order: step.order,
      before,
      after_ms: step.after_ms,
      limit: filter || keep || list.show ? SCAN_BATCH : wanted,
    };
    const part = await readRows(app, caller, access, window, read);
    const { rows } = part;
    const isLong = part.bytes > rows.length * SHORT;
    const kept = keep ? rows.filter((row) => keep.keeps(row)) : rows;
    for (let at = 0; at < kept.length; at += SCAN_BATCH) {
      // What is read besides rows to show them is held for some of them at a time.
      if (at > 0) await nextBreath();
      const some = kept.slice(at, at + SCAN_BATCH);
      const shapes = await show(some);
      for (const [index, resource] of some.entries()) {
        const shown = shapes[index];
        if (shown === undefined) continue;
        if (filter?.takeTurn()) await nextBreath();
        if (filter && !isAdmitted(filter, shown)) continue;
        found.push({ place: { ms: resource[step.order], id: resource.id }, shown });
        if (isLong) bytes += JSON.stringify(shown).length;
        if (found.length === wanted) return { found, more: true };
        if (bytes > MOST_SHOWN && found.length > 1) return { found, more: true };
      }
    }
    if (!part.end) return { found, more: false };
    before = part.end;
  }
}

/** @throws Failure `invalid` for a filter that costs too much: what it would say is not known */
function isAdmitted(filter: FilterMeter, item: object): boolean {
  const verdict = filter.judge({ item });
  if ('fault' in verdict && verdict.fault === 'exhausted') {
    refuseField('filter', `${verdict.because}.`, BAD_LIST);
  }
  return verdict.matches;
}

async function showToCaller(
  app: App,
  caller: BrokerCaller,
  definition: ShownHandler,
  access: ListAccess,
  rows: readonly Resource[],
): Promise<(object | undefined)[]> {
  const items = await describeResources(app, caller, definition, rows, 'list');
  return rows.map(({ scope_id }, at) => {
    const item = items[at];
    // A thing on which nothing may be done is not seen at all.
    return item?.authorized_actions
      ? visibleFields(item, access.fields.get(scope_id) ?? 'all')
      : undefined;
  });
}

async function readRows(
  app: App,
  caller: BrokerCaller,
  access: ListAccess,
  window: PageRequest,
  read: ReadPage,
): Promise<Part> {
  const sources: Promise<Part>[] = [];
  if (access.all.length > 0) {
    // Where much is seen, or only what is new is asked, walking the type in order reads least.
    const walk =
      access.all.length > 1 && (window.after_ms > 0 || access.all.length * 4 >= access.of);
    const share = Math.min(1, access.all.length / Math.max(1, access.of));
    sources.push(listInContainers(app.db, access.all, window, { walk, share }, read));
  }
  if (access.own.length > 0) {
    sources.push(listOwnedIn(app.db, caller.who.user_id, access.own, window, read));
  }
  if (access.named.size > 0) {
    const ids = uniteSets(access.named.values());
    const isSeen = (row: { id: string; container_id: string }): boolean =>
      access.named.get(row.container_id)?.some((ids) => ids.has(row.id)) ?? false;
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
