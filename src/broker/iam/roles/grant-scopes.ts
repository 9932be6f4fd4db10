import { isIdOf } from '../../resource/ids.ts';
import type { LinkChange } from '../../resource/links/plan.ts';
import type { Scope } from '../../resource/resource.ts';

type GrantScopesVerdict =
  | { allowed: true; grant_scope_ids: string[] }
  | { allowed: false; because: string };

/** Every request of a user asks of each of them whether it is the place in question. */
const MAX_GRANT_SCOPES = 1_000;

const refused = (because: string): GrantScopesVerdict => ({ allowed: false, because });

/** What is wrong with the form of a grant scope. */
export function faultOfGrantScope(id: string): string | undefined {
  if (id === 'this' || id === 'children' || id === 'descendants' || isIdOf(id, 'scope')) {
    return undefined;
  }
  return `Unknown grant scope "${id}": it is this, children, descendants, or a scope's id.`;
}

/**
 * Where a role's grants may reach after a change.
 *
 * @param role the scope the role lies in
 * @param findScope a scope by its id
 * @see B-44
 */
export function planGrantScopes(
  role: Pick<Scope, 'id' | 'type'>,
  present: readonly string[],
  change: LinkChange,
  named: readonly string[],
  findScope: (id: string) => Pick<Scope, 'parent_scope_id'> | undefined,
): GrantScopesVerdict {
  const wants = new Set(named.map((id) => (id === role.id ? 'this' : id)));
  const wanted = [...wants];
  const has = new Set(present);
  if (change === 'remove') {
    const absent = wanted.find((id) => !has.has(id));
    if (absent !== undefined) return refused(`"${absent}" is not there.`);
    return allowed(present.filter((id) => !wants.has(id)));
  }
  if (change === 'add') {
    // Who names the role's scope by its id need not know that `this` stands for it by then.
    const asNamed = new Set(named);
    const already = wanted.find((id) => has.has(id) && asNamed.has(id));
    if (already !== undefined) return refused(`"${already}" is there already.`);
  }
  for (const id of wanted) {
    const because = faultFor(role, id, findScope);
    if (because !== undefined) return refused(because);
  }
  const next = change === 'add' ? [...new Set([...present, ...wanted])] : wanted;
  if (next.length > MAX_GRANT_SCOPES) return refused(`a role reaches at most ${MAX_GRANT_SCOPES}.`);
  return judgeCombination(role, next) ?? allowed(next);
}

function allowed(ids: readonly string[]): GrantScopesVerdict {
  return { allowed: true, grant_scope_ids: [...ids].sort() };
}

function faultFor(
  role: Pick<Scope, 'id' | 'type'>,
  id: string,
  findScope: (id: string) => Pick<Scope, 'parent_scope_id'> | undefined,
): string | undefined {
  if (id === 'this') return undefined;
  if (role.type === 'project') return `a role in a project reaches only "this", not "${id}".`;
  if (id === 'children') return undefined;
  if (id === 'descendants') {
    return role.type === 'global' ? undefined : 'only roles in global can have "descendants".';
  }
  const scope = findScope(id);
  if (!scope) return `there is no scope "${id}".`;
  if (role.type === 'org' && scope.parent_scope_id !== role.id) {
    return `"${id}" is no project of the role's org.`;
  }
  return undefined;
}

function judgeCombination(
  role: Pick<Scope, 'type'>,
  ids: readonly string[],
): GrantScopesVerdict | undefined {
  const single = ids.filter((id) => !['this', 'children', 'descendants'].includes(id));
  if (ids.includes('descendants')) {
    if (ids.includes('children')) return refused('"descendants" covers "children": name one.');
    if (single.length > 0) return refused(`"descendants" covers "${single[0]}": name one.`);
  }
  if (ids.includes('children')) {
    const covered = single.find((id) => role.type === 'org' || id.startsWith('o_'));
    if (covered !== undefined) return refused(`"children" covers "${covered}": name one.`);
  }
  return undefined;
}
