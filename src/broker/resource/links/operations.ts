import { type App, perApp } from '../../../app/app.ts';
import { isConflict } from '../../../core/failure.ts';
import { ChangesInTurn } from '../../../core/fairness/changes-in-turn.ts';
import type { Effect } from '../../../store/write.ts';
import { listPlacesById, type Place } from '../by-ids.store.ts';
import type { BrokerCaller } from '../caller.ts';
import type { Beforehand } from '../ending.ts';
import { refuseField } from '../field-errors.ts';
import type { Kind, ShownHandler } from '../handler.ts';
import { lockResources } from '../holds.store.ts';
import { commitChange, planInTime, requireVersion } from '../operations.ts';
import { isBound } from '../org-bounds/bounds.ts';
import type { Resource } from '../resource.ts';
import { findVersion } from '../store.ts';
import { faultOfTotal } from './fields.ts';
import { faultOfPlan, type LinkChange, type PlannedLinks, planLinks } from './plan.ts';
import { countLinksFrom, deleteLinks, insertLinks, type LinkKind, listLinksFrom } from './store.ts';

/** What can be linked, and how another is refused. */
interface Linkable {
  /** The request's field, for refusals. */
  field: string;
  /** Message of a refusal. */
  message?: string;
  /** Whether what is there can be linked; everything, unless it is given. */
  isLinkable?(place: Place): boolean;
  /** What is wrong with an id of which there is nothing that can be linked. */
  faultOf(id: string): string;
}

/** A change of what a resource refers to, as a verb asks for it. */
interface LinkRequest<K extends Kind> extends Linkable {
  resource: Resource<K['body']>;
  change: LinkChange;
  kind: LinkKind;
  ids: readonly string[];
  /** How many there can be, where that is less than usual. */
  most?: number;
  /** Where the linked things must lie. */
  inside?: { scope_id?: string; container_id?: string };
  /** @throws Failure where more would be linked than may be, before anything is written */
  requireRoom?(plan: PlannedLinks): Promise<void>;
  /** What else the change brings with it. */
  effects?: readonly Effect[];
  /** What refuses the change where others have linked as many meanwhile; the links are there by then. */
  bounds?(plan: PlannedLinks): readonly Effect[];
  /** What ends with links that are taken away, in the change itself and before it. */
  loseBy?(plan: PlannedLinks): Promise<LossByLinks>;
}

/** `preconditions`: by what the change is refused besides, as far as that can be asked before it. */
type LossByLinks = Pick<Beforehand, 'end'> &
  Partial<Pick<Beforehand, 'preconditions'>> & { effects: readonly Effect[] };

/** What a link takes, one that is there or is asked for, as it is read and compared with the others. */
const BYTES_EACH = 100;
/** More are not counted: they are large, however many there are. */
const MOST_COUNTED = 2_000;

const changesOf = perApp(() => new ChangesInTurn());

/** Adds, replaces or removes links of one kind; all or nothing, and one version on. */
export async function changeLinks<K extends Kind>(
  app: App,
  caller: BrokerCaller,
  definition: ShownHandler<K>,
  request: LinkRequest<K>,
): Promise<Resource<K['body']>> {
  const { resource, kind } = request;
  const count = await countLinksFrom(app.db, { from_id: resource.id, kind }, MOST_COUNTED);
  const bytes = (count + request.ids.length) * BYTES_EACH;
  return changesOf(app).run(resource.id, bytes, async (mayHaveWaited) => {
    if (mayHaveWaited) {
      // Whoever has waited comes too late, unless nothing came of the change before.
      const now = (await findVersion(app.db, resource.id)) ?? -1;
      requireVersion(definition, { id: resource.id, version: now }, resource.version);
    }
    return changeNow(app, caller, definition, request);
  });
}

async function changeNow<K extends Kind>(
  app: App,
  caller: BrokerCaller,
  definition: ShownHandler<K>,
  request: LinkRequest<K>,
  isAgain = false,
): Promise<Resource<K['body']>> {
  const { resource, kind, inside } = request;
  const plan = await planInTime(app, definition, resource, () => planChange(app, request));
  const { added, removed } = plan;
  const loss = removed.length > 0 ? await request.loseBy?.(plan) : undefined;
  const effects = [
    ...deleteLinks({ from_id: resource.id, kind, to_ids: removed }),
    ...insertLinks({ from_id: resource.id, kind, to_ids: added }, inside),
    ...(request.effects ?? []),
    ...(request.bounds?.(plan) ?? []),
    ...(loss?.effects ?? []),
  ];
  const held = loss ? lockResources([...added, ...removed]) : [];
  const beforehand = loss && {
    end: loss.end,
    preconditions: [...held, ...(loss.preconditions ?? [])],
  };
  try {
    return await commitChange(app, caller, definition, resource, { effects, beforehand });
  } catch (error) {
    if (!isConflict(error)) throw error;
    if (isBound(error.message)) refuseField(request.field, error.message, request.message);
    // Something to be linked went away between reading and writing: say which.
    await planChange(app, request);
    if (isAgain) throw error;
    // Or something that was linked went away, and its link with it: what is asked for is done without.
    return changeNow(app, caller, definition, request, true);
  }
}

async function planChange(app: App, request: LinkRequest<Kind>): Promise<PlannedLinks> {
  const { change, ids, field, message } = request;
  const present = await listLinksFrom(app.db, request.resource.id, request.kind);
  const plan = planLinks(change, present, ids);
  const fault = faultOfPlan(plan) ?? faultOfTotal(present.length, plan, request.most);
  if (fault !== undefined) refuseField(field, fault, message);
  await request.requireRoom?.(plan);
  await requireLinkable(app, plan.added, request);
  return plan;
}

/** @throws Failure `invalid` naming the first id of what is not there, or cannot be linked */
export async function requireLinkable(
  app: App,
  ids: readonly string[],
  { field, message, isLinkable = () => true, faultOf }: Linkable,
): Promise<void> {
  const found = await listPlacesById(app.db, ids);
  const known = new Set(found.filter(isLinkable).map(({ id }) => id));
  const strange = ids.find((id) => !known.has(id));
  if (strange !== undefined) refuseField(field, faultOf(strange), message);
}
