import type { Resource } from '../resource/resource.ts';

/** An account that stands for a user, without what is kept with it. */
export type OwnedAccount = Pick<
  Resource,
  'id' | 'scope_id' | 'container_id' | 'owner_id' | 'created_ms'
>;

/** What a user shows of the accounts that stand for them; the rest is in the {@link AccountFacts} of the primary one. */
export function describeAccounts(
  accounts: readonly OwnedAccount[],
  primary_auth_method_id: string,
  how: 'item' | 'list',
): ShownAccounts {
  const primary = accounts.find((account) => account.container_id === primary_auth_method_id);
  return {
    account_ids: accounts.map((account) => account.id),
    ...(how === 'item' ? { accounts: accounts.map(({ id, scope_id }) => ({ id, scope_id })) } : {}),
    primary_account_id: primary?.id,
  };
}

export interface ShownAccounts {
  account_ids: string[];
  accounts?: Pick<OwnedAccount, 'id' | 'scope_id'>[];
  primary_account_id: string | undefined;
}

/** What accounts of every kind may know of a person. */
export interface AccountFacts {
  login_name?: string | undefined;
  full_name?: string | undefined;
  email?: string | undefined;
}

export function factsOf({ body }: Resource): AccountFacts {
  const { login_name, full_name, email }: AccountFacts = body;
  return { login_name, full_name, email };
}
