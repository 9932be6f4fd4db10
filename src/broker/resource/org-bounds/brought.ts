import type { RoleBody } from '../grants/role.ts';

/** What the roles grant that scopes begin with. */
export const BROUGHT_GRANTS = {
  administration: ['ids=*;type=*;actions=*'],
  org: [
    'ids=*;type=scope;actions=list,no-op',
    'ids=*;type=auth-method;actions=authenticate,list',
    'ids={{.Account.Id}};actions=read,change-password',
    'ids=*;type=auth-token;actions=list,read:self,delete:self',
  ],
  project: ['ids=*;type=session;actions=list,read:self,cancel:self', 'type=target;actions=list'],
} as const;

/** Their bodies, as they are stored. */
export const BROUGHT_BODIES: readonly string[] = Object.values(BROUGHT_GRANTS).map(
  (grant_strings) =>
    JSON.stringify({ grant_strings, grant_scope_ids: ['this'] } satisfies RoleBody),
);
