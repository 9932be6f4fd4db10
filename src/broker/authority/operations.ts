import type { App } from '../../app.ts';
import { ANONYMOUS_USER, AUTHENTICATED_USER, RECOVERY_USER } from '../caller.ts';
import { type Asker, Authority, type HeldGrant } from '../grants/decision.ts';
import { fillTemplates, parseGrant } from '../grants/grant.ts';
import { listLinks, listOfType } from '../resources/store.ts';
import type { RoleBody } from '../roles/role.ts';

/** A role as grants are looked up: what it grants where, to whom. */
interface GrantingRole {
  principals: readonly string[];
  held: readonly HeldGrant[];
}

interface RoleIndex {
  /** Roles by the principal they name. */
  byPrincipal: ReadonlyMap<string, readonly GrantingRole[]>;
  /** Groups by the user in them. */
  groupsOf: ReadonlyMap<string, readonly string[]>;
}

/**
 * What a user is allowed: through nobody's and everybody's roles, their own and their groups'.
 *
 * @param principals further ones that hold for this log-in: managed groups of the account
 */
export function readAuthority(
  app: App,
  user: { user_id: string; account_id: string; principals?: readonly string[] },
): Promise<Authority> {
  if (user.user_id === RECOVERY_USER) return Promise.resolve(new Authority('recovery', []));
  const { user_id, account_id, principals = [] } = user;
  const key = `broker/authority/${user_id}/${account_id}/${principals.join(',')}`;
  return app.cached(key, async () => {
    const index = await readRoleIndex(app);
    const asker: Asker = user_id === ANONYMOUS_USER ? 'anonymous' : 'user';
    const names =
      asker === 'anonymous'
        ? [ANONYMOUS_USER]
        : [
            ANONYMOUS_USER,
            AUTHENTICATED_USER,
            user_id,
            ...(index.groupsOf.get(user_id) ?? []),
            ...principals,
          ];
    const roles = new Set(names.flatMap((name) => index.byPrincipal.get(name) ?? []));
    const held = [...roles].flatMap((role) => role.held);
    return new Authority(
      asker,
      held.flatMap((one) => {
        const grant = fillTemplates(one.grant, { user_id, account_id });
        return grant ? [{ ...one, grant }] : [];
      }),
    );
  });
}

function readRoleIndex(app: App): Promise<RoleIndex> {
  return app.cached('broker/roles', async () => {
    const [roles, principals, members] = await Promise.all([
      listOfType(app.db, 'role'),
      listLinks(app.db, 'role-principal'),
      listLinks(app.db, 'group-member'),
    ]);
    const principalsOf = groupBy(principals, 'from_id', 'to_id');
    const byPrincipal = new Map<string, GrantingRole[]>();
    for (const { id, scope_id, body } of roles) {
      const { grant_strings, grant_scope_ids } = body as RoleBody;
      const held = grant_strings.flatMap((text): HeldGrant[] => {
        const reading = parseGrant(text);
        return reading.valid
          ? [{ grant: reading.grant, role_id: id, role_scope_id: scope_id, grant_scope_ids }]
          : [];
      });
      const role = { principals: principalsOf.get(id) ?? [], held };
      for (const principal of role.principals) {
        const known = byPrincipal.get(principal);
        if (known) known.push(role);
        else byPrincipal.set(principal, [role]);
      }
    }
    return { byPrincipal, groupsOf: groupBy(members, 'to_id', 'from_id') };
  });
}

function groupBy(
  links: readonly { from_id: string; to_id: string }[],
  key: 'from_id' | 'to_id',
  value: 'from_id' | 'to_id',
): Map<string, string[]> {
  const grouped = new Map<string, string[]>();
  for (const link of links) {
    const known = grouped.get(link[key]);
    if (known) known.push(link[value]);
    else grouped.set(link[key], [link[value]]);
  }
  return grouped;
}
