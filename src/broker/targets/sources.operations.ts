import type { App } from '../../app/app.ts';
import { Failure, isConflict } from '../../core/failure.ts';
import type { Effect } from '../../store/write.ts';
import type { Place } from '../resource/by-ids.store.ts';
import type { BrokerCaller } from '../resource/caller.ts';
import { refuseField } from '../resource/field-errors.ts';
import { faultOfTotal, type LinkVerbRequest } from '../resource/links/fields.ts';
import { changeLinks, requireLinkable } from '../resource/links/operations.ts';
import {
  faultOfPlan,
  type LinkChange,
  type PlannedLinks,
  planLinks,
} from '../resource/links/plan.ts';
import { deleteLinks, insertLinks, listLinksFrom } from '../resource/links/store.ts';
import { commitChange, planInTime } from '../resource/operations.ts';
import type { Resource } from '../resource/resource.ts';
import type { ResourceTypeName } from '../resource/types.ts';
import {
  endSessionsBeforehand,
  planDependentCancellation,
} from '../sessions/termination.operations.ts';
import { targetDefinition } from './operations.ts';
import {
  fieldOf,
  HOST_FIELD,
  MOST_CREDENTIAL_SOURCES,
  MOST_HOST_SETS,
  PURPOSES,
  type Purpose,
  type SourcesByPurpose,
} from './sources.ts';
import type { TargetBody, TargetKind } from './target.ts';

/** Changes which host sets a target is reached through; not on one with an address. @see B-65 */
export async function changeHostSources(
  app: App,
  caller: BrokerCaller,
  { resource, change, checked: ids }: LinkVerbRequest<TargetKind>,
): Promise<Resource<TargetBody>> {
  if (change !== 'remove' && resource.body.address !== '') {
    throw new Failure(
      'precondition',
      `unable to ${change} host sources because a network address is directly assigned to the given target`,
    );
  }
  return changeLinks(app, caller, targetDefinition, {
    resource,
    change,
    kind: 'target-host-source',
    ids,
    field: HOST_FIELD,
    most: MOST_HOST_SETS,
    inside: { scope_id: resource.scope_id },
    async loseBy({ removed }) {
      const loss = { target_id_of: resource.id, host_set_ids: removed };
      return {
        effects: planDependentCancellation(app, loss),
        end: (work) => endSessionsBeforehand(app, work, loss),
      };
    },
    ...linkableIn(resource, ['host-set']),
  });
}

/** Sources that are of the target's project. */
const linkableIn = (target: Resource, types: readonly ResourceTypeName[]) => ({
  isLinkable: ({ scope_id, type }: Place) => scope_id === target.scope_id && types.includes(type),
  faultOf: (id: string) => `There is no such source "${id}" in the target's project.`,
});

const KINDS = { brokered: 'target-brokered', injected_application: 'target-injected' } as const;

/** Changes the credentials of a target, both purposes in one step. */
export async function changeCredentialSources(
  app: App,
  caller: BrokerCaller,
  { resource, change, checked }: LinkVerbRequest<TargetKind, SourcesByPurpose>,
): Promise<Resource<TargetBody>> {
  if (change !== 'remove' && checked.injected_application.length > 0) {
    requireInjectable(resource);
  }
  const plan = (): Promise<Effect[]> => planSources(app, resource, checked, change);
  const effects = await planInTime(app, targetDefinition, resource, plan);
  try {
    return await commitChange(app, caller, targetDefinition, resource, { effects });
  } catch (error) {
    // A source went away between reading and writing: say which.
    if (isConflict(error)) await plan();
    throw error;
  }
}

/** @throws Failure `invalid` for a target whose protocol no worker logs in by @see B-130 */
function requireInjectable({ subtype }: Resource<TargetBody>): void {
  if (subtype === 'ssh') return;
  refuseField(
    fieldOf('injected_application'),
    `Credentials are injected on targets of type "ssh" only; this target is of type "${subtype}".`,
  );
}

async function planSources(
  app: App,
  target: Resource,
  named: SourcesByPurpose,
  change: LinkChange,
): Promise<Effect[]> {
  const present = await Promise.all(
    PURPOSES.map((purpose) => listLinksFrom(app.db, target.id, KINDS[purpose])),
  );
  const plans = PURPOSES.map((purpose, at) =>
    planPurpose(present[at] ?? [], named[purpose], { change, purpose }),
  );
  requireFew(present.flat().length, plans);
  const effects: Effect[] = [];
  for (const { links, purpose } of plans) {
    const linkable = linkableIn(target, ['credential', 'credential-library']);
    await requireLinkable(app, links.added, { field: fieldOf(purpose), ...linkable });
    const of = { from_id: target.id, kind: KINDS[purpose] };
    effects.push(
      ...deleteLinks({ ...of, to_ids: links.removed }),
      ...insertLinks({ ...of, to_ids: links.added }, { scope_id: target.scope_id }),
    );
  }
  return effects;
}

interface PlannedPurpose {
  purpose: Purpose;
  links: PlannedLinks;
}

function planPurpose(
  present: readonly string[],
  named: readonly string[],
  { change, purpose }: { change: LinkChange; purpose: Purpose },
): PlannedPurpose {
  const field = fieldOf(purpose);
  const links = planLinks(change, present, named);
  const fault = faultOfPlan(links);
  if (fault !== undefined) refuseField(field, fault);
  return { purpose, links };
}

/** @throws Failure `invalid` naming the list by which there would be too many */
function requireFew(present: number, plans: readonly PlannedPurpose[]): void {
  const removed = plans.flatMap(({ links }) => links.removed);
  const added = plans.flatMap(({ links }) => links.added);
  const fault = faultOfTotal(present, { added, removed }, MOST_CREDENTIAL_SOURCES);
  const longest = plans.toSorted((a, b) => b.links.added.length - a.links.added.length)[0];
  if (fault !== undefined && longest) refuseField(fieldOf(longest.purpose), fault);
}
