import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import type { AuthResult, DataResult, NothingResult } from '../../../app/output.ts';
import { judgeAddress } from '../../../config/cidrs.ts';
import { Failure, invalid } from '../../../core/failure.ts';
import { foldName } from '../../../core/fold.ts';
import { type KeyList, listKeys } from '../../../core/key-list.ts';
import {
  hashPassword,
  isMadeAt,
  SALT_LENGTH,
  verifyPassword,
} from '../../../core/password-hash.ts';
import { mergePatch } from '../../../core/patches.ts';
import { bumpPermissionVersion } from '../../../store/permission-version.ts';
import type { Write } from '../../../store/write.ts';
import { hashWithinLimit } from '../../concurrency/operations.ts';
import { commitEnd, endInTurn } from '../../endings/operations.ts';
import { endLogInsBeforehand, planAliasRemoval } from '../../identity/operations.ts';
import { removeLogInsAfterCommit } from '../../leases/ended-tokens.operations.ts';
import { commitInTurn, type Planned } from '../../standing/attempts.operations.ts';
import { checkTokenSettings, type TokenSettings } from '../../tokens/settings.ts';
import type { Token } from '../../tokens/token.ts';
import { attemptLogIn } from '../lockout/operations.ts';
import { logInIfFound, mayComeIn, type SucceededLogIn } from '../login.operations.ts';
import {
  deleteUser,
  findPasswordHash,
  findStoredUser,
  findUser,
  holdUser,
  listUserNames,
  measureUser,
  parseUser,
  replaceHash,
  type StoredUser,
  saveUser,
} from './store.ts';
import { HASH_COST, NO_PASSWORD, storedUser, type User } from './user.ts';

type SentUser = { [Name in keyof User]?: User[Name] | undefined };

function keyOf(caller: Caller, input: { username: string }): { mount_id: string; name: string } {
  return { mount_id: caller.mount.id, name: foldName(input.username) };
}

export async function isUser(
  app: App,
  caller: Caller,
  params: Readonly<Record<string, string>>,
): Promise<boolean> {
  const key = keyOf(caller, { username: params.username ?? '' });
  return (await measureUser(app.db, key)) > 0;
}

export async function readUser(
  app: App,
  caller: Caller,
  input: { username: string },
): Promise<DataResult<User>> {
  const { mount_id, name } = keyOf(caller, input);
  const user = await findUser(app.db, mount_id, name);
  if (!user) throw new Failure('not_found', '');
  return { data: user };
}

export async function listUsers(app: App, caller: Caller): Promise<KeyList> {
  return listKeys((page) => listUserNames(app.db, { mount_id: caller.mount.id, ...page }), {});
}

/** Writes a user; what is left out stays as it was, the password too. */
export async function writeUser(
  app: App,
  caller: Caller,
  input: { username: string; password: string; policies?: string[] | undefined } & SentUser,
): Promise<NothingResult> {
  const { username: _name, password, policies, ...sent } = input;
  const token_policies = sent.token_policies ?? policies;
  return changeUser(app, caller, input, { ...sent, token_policies });
}

export async function resetPassword(
  app: App,
  caller: Caller,
  input: { username: string; password: string },
): Promise<NothingResult> {
  if (input.password === '') throw invalid('missing password');
  return changeUser(app, caller, input, {}, requireUser);
}

export async function replacePolicies(
  app: App,
  caller: Caller,
  input: { username: string; token_policies: string[] },
): Promise<NothingResult> {
  const { username, token_policies } = input;
  return changeUser(app, caller, { username, password: '' }, { token_policies }, requireUser);
}

function requireUser(stored: StoredUser | undefined): void {
  if (!stored) throw invalid('username does not exist');
}

const replaced = (): Failure =>
  new Failure('conflict', 'the user, or the password, is another one by now: try again');

const lineOf = (key: { mount_id: string; name: string }): string =>
  `user ${key.mount_id} ${key.name}`;

function hashNew(app: App, password: string): Promise<string> {
  return hashPassword(password, app.randomBytes(SALT_LENGTH), HASH_COST);
}

/** @param check whether it may be done to what is there */
async function changeUser(
  app: App,
  caller: Caller,
  input: { username: string; password: string },
  sent: SentUser,
  check: (stored: StoredUser | undefined) => void = () => {},
): Promise<NothingResult> {
  const key = keyOf(caller, input);
  const { password } = input;
  let hashed: string | undefined;
  const hash = () => hashWithinLimit(app, caller, () => hashNew(app, password));
  const first = password === '' ? undefined : await findPasswordHash(app.db, key);
  const plan = async (): Promise<Planned<NothingResult>> => {
    const stored = await findStoredUser(app.db, key.mount_id, key.name);
    check(stored);
    // Somebody else of that name, perhaps, and no password is given to whom it was not meant for.
    if (password !== '' && first !== stored?.password_hash) throw replaced();
    const before = stored ? parseUser(stored) : storedUser.parse({});
    const user = mergePatch(before, sent);
    checkTokenSettings(user, before);
    // Made once, however often it is planned: it takes longer than all else.
    if (password !== '') hashed ??= await hash();
    const password_hash = hashed ?? stored?.password_hash;
    if (password_hash === undefined) throw invalid('missing password');
    const effects = [saveUser(key, stored, { user, password_hash })];
    return { effects, result: {}, found: stored !== undefined };
  };
  const bytes = await measureUser(app.db, key);
  // Who waits to have a password hashed, behind others of their address, holds no place that a long user takes.
  if (bytes > 0 && password !== '') hashed = await hash();
  return commitInTurn(app, caller, plan, { key: lineOf(key), changes: true, bytes });
}

export async function removeUser(
  app: App,
  caller: Caller,
  input: { username: string },
): Promise<NothingResult> {
  const key = keyOf(caller, input);
  // Whoever is given the name later is not who had it: what it stood for goes with the user, and so
  // does whatever logged in with it.
  const at = { mount_accessor: caller.mount.accessor, name: key.name };
  await endInTurn(app, lineOf(key), async () => {
    await endLogInsBeforehand(app, caller, at);
    const removed = await planAliasRemoval(app, at);
    const effects = [deleteUser(key), ...removed, ...bumpPermissionVersion()];
    await commitEnd(app, () => app.commit(caller, effects));
  });
  await removeLogInsAfterCommit(app, caller);
  return {};
}

/** What a user gives to log-ins by now, and what holds it; undefined once the user is gone. */
export async function findUserSettings(
  app: App,
  { mount_id, meta }: Pick<Token, 'mount_id' | 'meta'>,
): Promise<{ settings: TokenSettings; held: Write } | undefined> {
  const name = meta?.username ?? '';
  const stored = await findStoredUser(app.db, mount_id, name);
  return stored && { settings: parseUser(stored), held: holdUser({ mount_id, name }, stored) };
}

const WRONG = 'invalid username or password';

/** Logs a user in with a password; who has none here is refused in the same words and time. */
export async function logInWithPassword(
  app: App,
  caller: Caller,
  input: { username: string; password: string },
): Promise<AuthResult> {
  if (input.password === '') throw invalid('missing password');
  const answer = await logInIfFound(app, caller, finderOf(app, caller, input));
  // Locked or wrong, there or not, or another one by now, or whom they stand for may not come in:
  // nobody is told which, for that would tell that the password is right.
  if (!answer) throw invalid(WRONG);
  return answer;
}

/** Finds who logs in: at first by the password, and from then on as whoever still has the same one. */
function finderOf(
  app: App,
  caller: Caller,
  input: { username: string; password: string },
): () => Promise<SucceededLogIn | undefined> {
  const key = keyOf(caller, input);
  const { mount_id, name } = key;
  const findPresent = async (): Promise<StoredUser | undefined> => {
    const stored = await findStoredUser(app.db, mount_id, name);
    caller.record.recognised = stored !== undefined;
    return stored;
  };
  const isNear = (stored: StoredUser): boolean =>
    judgeAddress(parseUser(stored).token_bound_cidrs, caller.record.remote_address);
  const prove = () =>
    attemptLogIn(app, caller, { method_id: mount_id, name }, async () => {
      const stored = await findPresent();
      // Beside the hash, which takes longer.
      const [isLetIn, matches] = await Promise.all([
        mayComeIn(app, caller.mount, name),
        verifyPassword(input.password, stored?.password_hash ?? NO_PASSWORD),
      ]);
      return stored && matches && isNear(stored) && isLetIn ? stored : undefined;
    });
  let proved: Awaited<ReturnType<typeof prove>>;
  const planHash = hashPlanner(app, caller, input);
  return async () => {
    let stored = proved && (await findPresent());
    if (proved && stored && wasRehashed(proved.found, stored)) proved = undefined;
    if (!proved) {
      proved = await prove();
      stored = proved?.found;
    }
    if (!proved || !stored || !isNear(stored)) return undefined;
    if (stored.password_hash !== proved.found.password_hash) return undefined;
    const present = stored;
    return {
      settings: parseUser(present),
      display_name: `${caller.mount.path.replace(/\/$/, '').replaceAll('/', '-')}-${name}`,
      meta: { username: name },
      alias: name,
      line: lineOf(key),
      effects: proved.effects,
      planLast: () => planHash(present),
    };
  };
}

/** Perhaps by another log-in with the same password: it has to be proved once more. */
function wasRehashed(then: StoredUser, now: StoredUser): boolean {
  return then.password_hash !== now.password_hash && !isMadeAt(HASH_COST, then.password_hash);
}

/**
 * Holds a user as they were found. A hash of old is replaced by one of today, which whoever knows the password can have
 * made. Where too many hashes are made just now it stays what it was until another log-in: nobody is refused for that.
 */
function hashPlanner(
  app: App,
  caller: Caller,
  input: { username: string; password: string },
): (stored: StoredUser) => Promise<Write> {
  const key = keyOf(caller, input);
  let hashed: string | undefined;
  return async (stored) => {
    if (isMadeAt(HASH_COST, stored.password_hash)) return holdUser(key, stored);
    try {
      hashed ??= await hashWithinLimit(app, caller, () => hashNew(app, input.password), true);
      return replaceHash(key, stored, hashed);
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== 'rate_limited') throw error;
      return holdUser(key, stored);
    }
  };
}
