import { type Acl, boundAcl } from '../../acl/acl.ts';
import { judgeBoundRules } from '../../acl/policy-limits.ts';
import type { App } from '../../app/app.ts';
import type { LogInAlias } from '../../app/caller.ts';
import { Failure } from '../../core/failure.ts';
import { type IdentityFacts, weighFacts } from '../../core/identity-template.ts';
import { atMostOf, Kept, textBytes } from '../../core/kept.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import { ROOMS } from '../../core/rooms.ts';
import { type Soon, whenThere } from '../../core/steps.ts';
import {
  findPerson,
  LARGEST_PART,
  type Person,
  requirePolicies,
} from '../identity/persons.operations.ts';
import { nameKey } from '../identity/record.ts';
import { type BoundedToken, listPolicySets } from '../tokens/bounds.ts';
import { readAcl } from './sets.operations.ts';

/** What a token may do, with what it stands for added to its own. */
export interface Permissions {
  acl: Acl;
  identity: IdentityFacts | undefined;
  identity_policies: readonly string[];
}

/** What they were made of is counted with each of them, as it may be gone from where it was read. */
function weighPermissions({ permissions }: Known): number {
  if (!permissions) return 0;
  const { acl, identity, identity_policies } = permissions;
  const names = identity_policies.reduce((sum, name) => sum + NAME_BYTES + textBytes(name), 0);
  const bytes = acl.bytes + names + (identity ? weighFacts(identity) : 0);
  return atMostOf(ROOMS.permissions, bytes);
}

/** A policy's name, besides its characters. */
const NAME_BYTES = 40;

/** Permissions, or why there are none although there is somebody. */
interface Known {
  permissions: Permissions | undefined;
  excess?: string;
}

/**
 * What a token is permitted at this moment.
 *
 * @param token its own policies, sorted, what bounds them, and the entity it stands for, empty for
 *   none; a restricted one is granted nothing by that entity
 * @returns undefined when its entity is disabled or gone, or no longer whom it logged in as: such a
 *   token stands for nobody
 */
export function readPermissions(app: App, token: BoundedToken): Soon<Permissions | undefined> {
  const { entity_id, policies, bounds } = token;
  if (entity_id === '' && !bounds) {
    return whenThere(readAcl(app, policies, undefined), (acl) => ({
      acl,
      identity: undefined,
      identity_policies: [],
    }));
  }
  const load = () => loadPermissions(app, token);
  return whenThere(app.cached('identity:permissions', keepPermissions), (known) => {
    // Of one that is kept it is put together once.
    const key = Object.isFrozen(token) ? rememberedKey(token) : permissionsKey(token);
    return whenThere(known.find(key) ?? known.get(key, load), (found) => {
      // A stanza may have run out since.
      const now = Math.floor(app.now() / 1000);
      const isCurrent = !found.permissions || now < found.permissions.acl.valid_until;
      return whenThere(isCurrent ? found : load(), requireBounded);
    });
  });
}

const keepPermissions = async () => new Kept(ROOMS.permissions, weighPermissions, LARGEST_PART);

function requireBounded({ permissions, excess }: Known): Permissions | undefined {
  if (excess !== undefined) throw new Failure('forbidden', excess);
  return permissions;
}

/** A policy's name may hold whatever would separate it from the next one. */
const permissionsKey = ({ entity_id, restricted, policies, bounds, alias }: BoundedToken): string =>
  JSON.stringify([entity_id, restricted, policies, bounds, alias]);

const rememberedKey = memoizeWeak(permissionsKey);

/** Remembered also when it is refused: whoever has too many policies asks again at once. */
async function loadPermissions(app: App, token: BoundedToken): Promise<Known> {
  const person = token.entity_id === '' ? undefined : await findPerson(app, token.entity_id);
  const isNobody = !person || person.entity.disabled || !standsAs(person, token.alias);
  if (token.entity_id !== '' && isNobody) return { permissions: undefined };
  const acls: Acl[] = [];
  for (const { policies, entity_id } of listPolicySets(
    token,
    person ? requirePolicies(person) : [],
  )) {
    const of = entity_id === token.entity_id ? person : await findPerson(app, entity_id);
    if (of) requirePolicies(of);
    acls.push(await readAcl(app, policies, of?.facts));
    const excess = judgeBoundRules(acls.reduce(boundAcl).size);
    if (excess !== undefined) return { permissions: undefined, excess };
  }
  // What its own policies allow, and no more than those from which it was made.
  const acl = acls.reduce(boundAcl);
  if (!person) return { permissions: { acl, identity: undefined, identity_policies: [] } };
  const identity_policies = token.restricted ? [] : requirePolicies(person);
  return { permissions: { acl, identity: person.facts, identity_policies } };
}

/** Whether an entity still has the alias by which a log-in came; others need none. */
function standsAs({ facts, alias_moves }: Person, alias: LogInAlias | undefined): boolean {
  if (!alias) return true;
  const known = facts.entity.aliases[alias.mount_accessor];
  if (known?.id !== alias.id || nameKey(known.name) !== alias.name_key) return false;
  return alias_moves.get(alias.id) === (alias.moves ?? 0);
}
