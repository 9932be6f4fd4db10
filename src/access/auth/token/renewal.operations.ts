import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import { effectiveLeaseTtls, type Mount } from '../../../app/mount.ts';
import type { AuthResult } from '../../../app/output.ts';
import { invalid } from '../../../core/failure.ts';
import { findMountById, presentMount } from '../../../mounts/operations.ts';
import { holdSettings } from '../../../mounts/store.ts';
import type { Effect } from '../../../store/write.ts';
import { isLiving, requirePresented } from '../../permissions/authentication.operations.ts';
import { commitPlanned } from '../../standing/attempts.operations.ts';
import { describeAuth } from '../../tokens/answers.ts';
import { planLifetime } from '../../tokens/lifetime.ts';
import { nowSeconds } from '../../tokens/minting.operations.ts';
import { noteToken } from '../../tokens/recorded.ts';
import { findStoredTokenRole, holdTokenRole } from '../../tokens/roles.store.ts';
import { findToken, renewToken } from '../../tokens/store.ts';
import type { Token } from '../../tokens/token.ts';
import { findApproleSettings } from '../approle/operations.ts';
import { identityPolicies } from '../minted.operations.ts';
import { findUserSettings } from '../userpass/operations.ts';
import { requireByAccessor, requireLiving } from './operations.ts';
import {
  judgeAddresses,
  judgePolicies,
  type RenewalRules,
  rulesOfMaker,
  rulesOfSettings,
  rulesOfToken,
} from './renewal.ts';
import { planRevocation } from './revocation.operations.ts';

export async function renewSelf(
  app: App,
  caller: Caller,
  input: { increment: number },
): Promise<AuthResult> {
  const { text, token } = requirePresented(caller);
  const from = caller.record.remote_address;
  return renew(app, caller, { token, client_token: text, from, increment: input.increment });
}

export async function renewByText(
  app: App,
  caller: Caller,
  input: { token: string; increment: number },
): Promise<AuthResult> {
  if (input.token === '') return renewSelf(app, caller, input);
  const token = await requireLiving(app, caller, input.token);
  const from = caller.record.remote_address;
  const { increment } = input;
  return renew(app, caller, { token, client_token: input.token, from, increment });
}

export async function renewByAccessor(
  app: App,
  caller: Caller,
  input: { accessor: string; increment: number },
): Promise<AuthResult> {
  const token = await requireByAccessor(app, input.accessor);
  const { increment } = input;
  return renew(app, caller, { token, client_token: '', from: undefined, increment });
}

interface RenewalRequest {
  token: Token;
  client_token: string;
  /** Where whoever has the token asks from; undefined for somebody who has its accessor. */
  from: string | undefined;
  increment: number;
}

async function renew(app: App, caller: Caller, input: RenewalRequest): Promise<AuthResult> {
  const { client_token } = input;
  noteToken(caller, input.token);
  const { token, expires_at, times, warnings } = await commitPlanned(app, caller, async () => {
    const now = nowSeconds(app);
    const { token, expires_at } = await requireRenewable(app, input.token);
    const origin = await findMountById(app, token.mount_id);
    // As it is by now: the request may be planned anew.
    const mount = origin ?? (await presentMount(app, caller.mount));
    const { rules, effects } = await askMaker(app, { token, from: input.from }, origin);
    const { default_ttl, max_ttl } = effectiveLeaseTtls(mount.config);
    const bounds = { ...rules, default_ttl: token.creation_ttl || default_ttl, max_ttl };
    const { ttl, warnings } = planLifetime(bounds, input.increment, now - token.created_at);
    if (ttl <= 0) throw invalid('past the max TTL, cannot renew');
    const times = { expires_at: now + ttl, renewed_at: now };
    const renewed = renewToken({ id: token.id, expires_at }, times);
    return {
      effects: [...holdSettings(mount), ...effects, renewed],
      result: { token, expires_at, times, warnings },
    };
  });
  await endRevived(app, caller, { ...token, expires_at });
  const policies = await identityPolicies(app, token);
  const auth = describeAuth({ ...token, ...times }, client_token, times.renewed_at, policies);
  return warnings.length > 0 ? { auth, warnings } : { auth };
}

/**
 * The token as it is by now, however long ago it was asked for.
 *
 * @throws Failure `invalid`
 */
async function requireRenewable(
  app: App,
  { id, type, renewable }: Token,
): Promise<{ token: Token; expires_at: number }> {
  if (!renewable || type === 'batch') throw invalid('lease is not renewable');
  const token = await findToken(app.db, id);
  if (token?.expires_at === undefined) throw invalid('lease is not renewable');
  if (!(await isLiving(app, token))) throw invalid(RUN_OUT);
  return { token, expires_at: token.expires_at };
}

const RUN_OUT = 'the token has run out or was revoked in the meantime';

/**
 * A token that ran out while its renewal waited to be written was dead to whoever came with it: it
 * does not come to life again.
 */
async function endRevived(
  app: App,
  caller: Caller,
  was: { id: string; accessor: string; expires_at: number },
): Promise<void> {
  if (nowSeconds(app) < was.expires_at) return;
  // The renewal is on record already: this record says that the token was ended after all.
  const outcome = { status: 'refused', error: RUN_OUT, ended_accessor: was.accessor };
  const record = { ...caller.record, outcome: { ...caller.record.outcome, ...outcome } };
  // The token may be the request's own, so the write set must not depend on it.
  const late: Caller = { ...caller, record, standing: undefined };
  await app.commit(late, await planRevocation(app, was.id));
  throw invalid(RUN_OUT);
}

interface Asked {
  rules: RenewalRules;
  /** What it rests on. */
  effects: readonly Effect[];
}

/**
 * The present rules of what a token was made by: the account or role that logged in, or the token role.
 *
 * @throws Failure `invalid` when that is gone, gives other policies, or allows other addresses
 */
async function askMaker(
  app: App,
  { token, from }: Pick<RenewalRequest, 'token' | 'from'>,
  origin: Mount | undefined,
): Promise<Asked> {
  if (token.role !== '') return askTokenRole(app, token);
  switch (origin?.type) {
    case 'userpass':
      return askAccount({ token, from }, await findUserSettings(app, token), 'same');
    case 'approle':
      return askAccount({ token, from }, await findApproleSettings(app, token), 'no_less');
    default:
      return { rules: rulesOfToken(token), effects: [] };
  }
}

async function askTokenRole(app: App, token: Token): Promise<Asked> {
  const role = await findStoredTokenRole(app.db, token.role);
  if (!role) throw invalid(`original token role "${token.role}" could not be found, not renewing`);
  const { token_explicit_max_ttl, explicit_max_ttl, token_period, period } = role.rules;
  const made = {
    explicit_max_ttl: token_explicit_max_ttl || explicit_max_ttl,
    role_max_ttl: 0,
    period: token_period || period,
  };
  const held = holdTokenRole({ name: token.role, body_tag: role.body_tag });
  return { rules: rulesOfMaker(token, made), effects: [held] };
}

type Account = Awaited<ReturnType<typeof findUserSettings>>;

function askAccount(
  { token, from }: Pick<RenewalRequest, 'token' | 'from'>,
  account: Account,
  policies: 'same' | 'no_less',
): Asked {
  if (!account) throw invalid('who logged in is gone, not renewing');
  const { settings, held } = account;
  const because =
    judgePolicies(token.policies, settings.token_policies, policies) ??
    judgeAddresses(token.bound_cidrs, settings, from);
  if (because !== undefined) throw invalid(because);
  return { rules: rulesOfMaker(token, rulesOfSettings(settings)), effects: [held] };
}
