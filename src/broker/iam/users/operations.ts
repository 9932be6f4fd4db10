import { z } from 'zod';
import { removeLogInsAfterCommit } from '../../../access/leases/ended-tokens.operations.ts';
import type { App } from '../../../app/app.ts';
import { isConflict } from '../../../core/failure.ts';
import { Breath } from '../../../core/fairness/breath.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import { describeAccounts, type ShownAccounts } from '../../principals/account-facts.ts';
import type { UserBody } from '../../principals/user.ts';
import {
  clearOwner,
  listAccountFacts,
  listAccountsOfUsers,
  setOwner,
} from '../../principals/users.store.ts';
import { listPlacesById } from '../../resource/by-ids.store.ts';
import {
  ANONYMOUS_USER,
  AUTHENTICATED_USER,
  type BrokerCaller,
  RECOVERY_USER,
} from '../../resource/caller.ts';
import { refuseField } from '../../resource/field-errors.ts';
import type { Kind, Plan, ResourceHandler } from '../../resource/handler.ts';
import { lockResources } from '../../resource/holds.store.ts';
import { isIdOf } from '../../resource/ids.ts';
import { faultOfTotal, idCheck, type LinkVerbRequest } from '../../resource/links/fields.ts';
import { faultOfPlan, type LinkChange, planLinks } from '../../resource/links/plan.ts';
import { commitChange, planInTime } from '../../resource/operations.ts';
import type { Resource } from '../../resource/resource.ts';
import { readScopeTree } from '../../resource/scope-tree/operations.ts';
import { listOwnedIds } from '../../resource/store.ts';
import { planDependentCancellation } from '../../sessions/termination.operations.ts';
import { endLogInsBeforehand } from '../auth-tokens/log-ins.operations.ts';
import { endLogIns } from '../auth-tokens/operations.ts';
import { endBeforehand } from '../removal.operations.ts';

const BUILT_IN: readonly string[] = [ANONYMOUS_USER, AUTHENTICATED_USER, RECOVERY_USER];

const account = z.object({ id: z.string(), scope_id: z.string() });
const ofPrimary = (what: string) => z.string().describe(`${what} Of the primary account.`);

const shown = {
  account_ids: z.array(z.string()).describe('Accounts that stand for the user.'),
  accounts: z.array(account).describe('Not in lists.'),
  primary_account_id: z.string().describe("The one of the scope's primary auth method."),
  login_name: ofPrimary('How they log in.'),
  full_name: ofPrimary('What they are called.'),
  email: ofPrimary('Where mail reaches them.'),
};

interface UserKind extends Kind {
  shown: typeof shown;
  body: UserBody;
}

export const userDefinition: ResourceHandler<UserKind> = {
  type: 'user',
  containerField: 'scope_id',
  fields: {},
  shown,
  cached: true,
  words: { stale: 'User "%" doesn\'t exist or incorrect version provided.' },

  checkNew() {},
  planNew: async () => ({ body: { entity_id: '', policies: [] } }),
  updatable: () => [],
  checkChange() {},
  planChange: async () => ({}),
  endBeforehand,
  async planRemoval(app, _caller, resource) {
    if (BUILT_IN.includes(resource.id)) {
      refuseField('id', `The built-in user ${resource.id} cannot be deleted.`);
    }
    return [
      ...(await endLogIns(app, { user_ids: [resource.id] })),
      ...planDependentCancellation(app, { user_ids: [resource.id] }),
      clearOwner(resource.id),
    ];
  },

  async describe(app, _caller, users, how) {
    const tree = await readScopeTree(app);
    const described: ShownAccounts[] = [];
    const breath = new Breath();
    for (let at = 0; at < users.length; at += USERS_AT_ONCE) {
      const some = users.slice(at, at + USERS_AT_ONCE);
      const accountsOf = await listAccountsOfUsers(
        app.db,
        some.map((user) => user.id),
      );
      for (const { id, scope_id } of some) {
        const primary = tree.byId.get(scope_id)?.primary_auth_method_id ?? '';
        described.push(describeAccounts(accountsOf.get(id) ?? [], primary, how));
      }
      await breath.take();
    }
    const primaries = described.flatMap(({ primary_account_id }) => primary_account_id ?? []);
    const facts = await listAccountFacts(app.db, primaries);
    return described.map(({ primary_account_id, ...shown }) =>
      omitEmpty({ ...shown, ...facts.get(primary_account_id ?? ''), primary_account_id }),
    );
  },
};

/** Users whose accounts are read before others get their turn. */
const USERS_AT_ONCE = 64;

const FIELD = 'account_ids';
/** Of one user, who has one of each way to log in; each change plans for every one of them. */
const MOST_ACCOUNTS = 64;

export const checkAccounts = idCheck(FIELD, (id) =>
  isIdOf(id, 'account') ? undefined : 'Values must be valid account ids.',
);

/** Says which accounts stand for a user. An account stands for one user at most. */
export async function changeAccounts(
  app: App,
  caller: BrokerCaller,
  { resource, change, checked: ids }: LinkVerbRequest<UserKind>,
): Promise<Resource<UserBody>> {
  if (BUILT_IN.includes(resource.id)) {
    refuseField('id', `The built-in user ${resource.id} has no accounts.`);
  }
  const plan = (): Promise<Plan<UserKind>> => planAccounts(app, { user: resource, ids, change });
  const planned = await planInTime(app, userDefinition, resource, plan);
  try {
    const changed = await commitChange(app, caller, userDefinition, resource, planned);
    await removeLogInsAfterCommit(app, caller);
    return changed;
  } catch (error) {
    // An account went away, or to somebody else, between reading and writing: say which.
    if (isConflict(error)) await plan();
    throw error;
  }
}

async function planAccounts(
  app: App,
  { user, ids, change }: { user: Resource; ids: readonly string[]; change: LinkChange },
): Promise<Plan<UserKind>> {
  const present = await listOwnedIds(app.db, 'account', user.id);
  const plan = planLinks(change, present, ids);
  const fault = faultOfPlan(plan) ?? faultOfTotal(present.length, plan, MOST_ACCOUNTS);
  if (fault !== undefined) refuseField(FIELD, fault);
  await requireFree(app, user, plan.added);
  const { added, removed } = plan;
  const links = added.map((id) => setOwner(id, { from: '', to: user.id }));
  if (removed.length === 0) return { effects: links };
  return {
    effects: [
      ...removed.map((id) => setOwner(id, { from: user.id, to: '' })),
      // Whoever logged in through an account that is taken away is this user no more. After that:
      // a log-in that holds the account is waited for.
      ...(await endLogIns(app, { account_ids: removed })),
      ...links,
    ],
    beforehand: {
      end: (work) => endLogInsBeforehand(app, work, { account_ids: removed }),
      preconditions: [...lockResources(removed, user.id), ...lockResources(added, '')],
    },
  };
}

async function requireFree(app: App, user: Resource, ids: readonly string[]): Promise<void> {
  const known = new Map((await listPlacesById(app.db, ids)).map((one) => [one.id, one]));
  for (const id of ids) {
    const account = known.get(id);
    if (!account || account.scope_id !== user.scope_id) {
      refuseField(FIELD, `There is no account "${id}" in the user's scope.`);
    }
    if (account.owner_id !== '') {
      refuseField(FIELD, `Account "${id}" stands for another user already.`);
    }
  }
}
