import type { App } from '../../../app/app.ts';
import { isConflict } from '../../../core/failure.ts';
import type { Effect } from '../../../store/write.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { type FieldErrors, refuseField } from '../../resource/field-errors.ts';
import {
  canonicalGrant,
  faultOfGrantLengths,
  type GrantReading,
  parseGrant,
} from '../../resource/grants/grant.ts';
import type { RoleBody } from '../../resource/grants/role.ts';
import { idCheck, type LinkVerbRequest } from '../../resource/links/fields.ts';
import { faultOfPlan, type LinkChange, planLinks } from '../../resource/links/plan.ts';
import { commitChange } from '../../resource/operations.ts';
import { isBound } from '../../resource/org-bounds/bounds.ts';
import type { Resource } from '../../resource/resource.ts';
import { readScopeTree, requireScope } from '../../resource/scope-tree/operations.ts';
import { faultOfGrantScope, planGrantScopes } from './grant-scopes.ts';
import { type RoleKind, roleDefinition } from './operations.ts';
import { moreOnceChanged, planRoom } from './room.operations.ts';

const GRANTS = 'grant_strings';

/** A grant that a request names. */
interface NamedGrant {
  text: string;
  canonical: string;
}

export function checkGrants(
  { grant_strings: texts = [] }: { readonly grant_strings?: readonly string[] | undefined },
  errors: FieldErrors,
  { change }: { change: LinkChange },
): NamedGrant[] {
  if (texts.length === 0 && change !== 'set') errors.add(GRANTS, 'Must be non-empty.');
  const unread = faultOfGrantLengths(texts);
  const named: NamedGrant[] = [];
  for (const text of unread === undefined ? texts : []) {
    const reading = parseGrant(text);
    const fault = faultOfGrant(text, reading, change);
    if (fault !== undefined) {
      errors.add(GRANTS, fault);
      break;
    }
    named.push({ text, canonical: canonicalOf(text, reading) });
  }
  if (unread !== undefined) errors.add(GRANTS, unread);
  return named;
}

/** @see B-48, B-49 */
function faultOfGrant(text: string, reading: GrantReading, change: LinkChange): string | undefined {
  if (text === '') return 'Grant strings must not be empty.';
  // What is there already can be taken away, whatever it looks like by today's rules.
  if (change === 'remove') return undefined;
  if (!reading.valid) {
    const reason = change === 'set' ? ` ${reading.because}.` : '';
    return `Improperly formatted grant ${JSON.stringify(text)}.${reason}`;
  }
  if (reading.grant.legacy_id) {
    return `Improperly formatted grant ${JSON.stringify(text)}. The field "id" is no longer supported: use "ids".`;
  }
  return undefined;
}

/** Adds, replaces or removes a role's grants; two that mean the same are one too many. */
export async function changeGrants(
  app: App,
  caller: BrokerCaller,
  { resource, change, checked }: LinkVerbRequest<RoleKind, readonly NamedGrant[]>,
): Promise<Resource<RoleBody>> {
  const present = new Map(resource.body.grant_strings.map((text) => [canonicalOf(text), text]));
  const named = new Map<string, string>();
  for (const { text, canonical } of checked) {
    if (named.has(canonical)) refuseField(GRANTS, `Grant "${text}" is given twice.`);
    named.set(canonical, text);
  }
  const plan = planLinks(change, [...present.keys()], [...named.keys()]);
  const fault = faultOfPlan(plan, 'Grant ');
  if (fault !== undefined) refuseField(GRANTS, fault);
  const next =
    change === 'set'
      ? [...named.values()]
      : change === 'add'
        ? [...present.values(), ...named.values()]
        : [...present].filter(([key]) => !named.has(key)).map(([, text]) => text);
  const because = change === 'remove' ? undefined : faultOfGrantLengths(next);
  if (because !== undefined) refuseField(GRANTS, because);
  return commitRole(app, caller, resource, { field: GRANTS, value: next });
}

const canonicalOf = (text: string, reading = parseGrant(text)): string =>
  reading.valid ? canonicalGrant(reading.grant) : text;

const GRANT_SCOPES = 'grant_scope_ids';

export const checkGrantScopes = idCheck(GRANT_SCOPES, faultOfGrantScope);

/** Changes where a role's grants reach. */
export async function changeGrantScopes(
  app: App,
  caller: BrokerCaller,
  { resource, change, checked: ids }: LinkVerbRequest<RoleKind>,
): Promise<Resource<RoleBody>> {
  const tree = await readScopeTree(app);
  const verdict = planGrantScopes(
    await requireScope(app, resource.scope_id),
    resource.body.grant_scope_ids,
    change,
    ids,
    (id) => tree.byId.get(id),
  );
  if (!verdict.allowed) {
    const message = `Unable to ${change} grant scopes on role ${resource.id}.`;
    refuseField(GRANT_SCOPES, verdict.because, message);
  }
  const value = verdict.grant_scope_ids;
  return commitRole(app, caller, resource, { field: GRANT_SCOPES, value });
}

/**
 * Changes what a role holds, if there is room for it; what takes no more than before has its room, and so has what only
 * takes away.
 */
async function commitRole(
  app: App,
  caller: BrokerCaller,
  resource: Resource<RoleBody>,
  { field, value }: { field: keyof RoleBody; value: readonly string[] },
): Promise<Resource<RoleBody>> {
  const present = resource.body;
  const body: RoleBody = { ...present, [field]: value };
  const commit = (effects: readonly Effect[]): Promise<Resource<RoleBody>> =>
    commitChange(app, caller, roleDefinition, resource, { body, effects });
  const more = moreOnceChanged(resource, body);
  const had = new Set(present[field]);
  if (more <= 0 || value.every((one) => had.has(one))) return commit([]);
  const scope = await requireScope(app, resource.scope_id);
  const requireRoom = (): Promise<Effect[]> => planRoom(app, scope, more, field);
  const effects = await requireRoom();
  try {
    return await commit(effects);
  } catch (error) {
    if (!isConflict(error)) throw error;
    // Others may have taken the room meanwhile, and some of them have given it up again.
    await requireRoom();
    if (isBound(error.message)) refuseField(field, error.message);
    throw error;
  }
}
