import { type App, perApp } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import { inOnePlace } from '../../../app/one-for-all.ts';
import type { AuthResult } from '../../../app/output.ts';
import { areWithin, judgeAddress } from '../../../config/cidrs.ts';
import { invalid } from '../../../core/failure.ts';
import { partyOf } from '../../../core/fairness/party.ts';
import { nowSeconds } from '../../tokens/minting.operations.ts';
import { isAlive } from '../../tokens/token.ts';
import { logInIfFound, type SucceededLogIn } from '../login.operations.ts';
import { lineOfApprole } from './operations.ts';
import { storedApprole } from './role.ts';
import { secretKey } from './secret-ids.operations.ts';
import {
  deleteSpentSecretId,
  findApproleById,
  findSecretId,
  holdApprole,
  holdSecretId,
  type StoredApprole,
  useSecretId,
} from './store.ts';
import { Throttle } from './throttle.ts';

/** One text for everything that is wrong with a log-in: which half it was is nobody's business. */
const REFUSED = 'invalid role or secret ID';

const throttleOf = perApp(() => new Throttle());

const isOpen = inOnePlace('approle/is-open', async (app, key: string) =>
  throttleOf(app).isOpen(key, nowSeconds(app)),
);

const noteFailure = inOnePlace('approle/note-failure', async (app, key: string) =>
  throttleOf(app).fail(key, nowSeconds(app)),
);

/**
 * Logs a machine in with the ID of its role and a secret ID, unless too many failed of late. All
 * that a refusal depends on is what was sent: it is the same for a role that is not there.
 */
export async function logInWithSecretId(
  app: App,
  caller: Caller,
  input: { role_id: string; secret_id: string },
): Promise<AuthResult> {
  if (input.role_id === '') throw invalid('missing role_id');
  const key = throttleKey(caller, input.role_id);
  const answer = (await isOpen(app, key))
    ? await logInIfFound(app, caller, () => checkMachine(app, caller, input))
    : undefined;
  if (answer) return answer;
  // Before the answer: whoever comes again comes to another thread perhaps.
  await noteFailure(app, key);
  throw invalid(input.secret_id === '' ? 'missing secret_id' : REFUSED);
}

/** What comes from one address for one role; a text that is no role's must not take up room. */
function throttleKey(caller: Caller, role_id: string): string {
  return `${caller.mount.id} ${partyOf(caller.record.remote_address)} ${role_id.slice(0, 64)}`;
}

/** What a role that is not there is looked at as, so that it takes as long. */
const NO_ROLE: StoredApprole = {
  name: '',
  role_id: '',
  role_id_key: null,
  body_tag: '',
  rules: storedApprole.parse({}),
};

/** Finds out whose log-in it is, by the same steps whether there is such a role or not. */
async function checkMachine(
  app: App,
  caller: Caller,
  input: { role_id: string; secret_id: string },
): Promise<SucceededLogIn | undefined> {
  const mount_id = caller.mount.id;
  const [known, secret] = [
    await findApproleById(app.db, mount_id, input.role_id),
    await findSecretId(app.db, secretKey(app, mount_id, input.secret_id)),
  ];
  caller.record.recognised = known !== undefined;
  const { name, role_id, rules } = known ?? readAgain(NO_ROLE);
  const { remote_address } = caller.record;
  const isNear = (cidrs: readonly string[]) => judgeAddress(cidrs, remote_address);
  const isFromNear = isNear(rules.secret_id_bound_cidrs) && isNear(rules.token_bound_cidrs);
  const ofRole = {
    settings: rules,
    display_name: 'approle',
    meta: { role_name: name },
    alias: role_id,
    line: lineOfApprole({ mount_id, name }),
  };
  if (!known || !isFromNear) return undefined;
  const held = holdApprole({ mount_id, name }, known);
  if (!rules.bind_secret_id) return { ...ofRole, effects: [held] };
  if (input.secret_id === '' || secret?.role !== name) return undefined;
  caller.record.outcome.secret_id_accessor = secret.accessor;
  if (!isAlive(secret, nowSeconds(app)) || !isNear(secret.cidr_list)) return undefined;
  const bound = secret.token_bound_cidrs;
  // The role may have been narrowed since.
  if (!areWithin(bound, rules.token_bound_cidrs)) return undefined;
  return {
    ...ofRole,
    settings: bound.length > 0 ? { ...rules, token_bound_cidrs: bound } : rules,
    meta: { ...secret.metadata, ...ofRole.meta },
    // Counted with the token it is spent on, so that the last use is given to one of two.
    effects: [
      held,
      ...(secret.num_uses > 0
        ? [useSecretId(secret, REFUSED), deleteSpentSecretId(secret)]
        : [holdSecretId({ id: secret.id, accessor: secret.accessor })]),
    ],
  };
}

/** Takes as long as reading a role from its row does. */
function readAgain(role: StoredApprole): StoredApprole {
  return { ...role, rules: storedApprole.parse(JSON.parse(JSON.stringify(role.rules))) };
}
