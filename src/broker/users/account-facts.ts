import type { Resource } from '../resource.ts';

/** What a user shows of the accounts that stand for them. */
export function describeAccounts(
  accounts: readonly Resource[],
  primary_auth_method_id: string,
  how: 'item' | 'list',
): Record<string, unknown> {
  const primary = accounts.find((account) => account.container_id === primary_auth_method_id);
  const facts = primary === undefined ? undefined : (primary.body as AccountFacts);
  return {
    account_ids: accounts.map((account) => account.id),
    ...(how === 'item' ? { accounts: accounts.map(({ id, scope_id }) => ({ id, scope_id })) } : {}),
    login_name: facts?.login_name,
    full_name: facts?.full_name,
    email: facts?.email,
    primary_account_id: primary?.id,
  };
}

/** What accounts of every kind may know of a person. */
export interface AccountFacts {
  login_name?: string;
  full_name?: string;
  email?: string;
}
