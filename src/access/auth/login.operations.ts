import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { effectiveLeaseTtls, type Mount } from '../../app/mount.ts';
import type { AuthResult } from '../../app/output.ts';
import { Failure, isConflict } from '../../core/failure.ts';
import { presentMount } from '../../mounts/operations.ts';
import { holdSettings } from '../../mounts/store.ts';
import type { Effect } from '../../store/write.ts';
import { findAlias } from '../identity/aliases.store.ts';
import { findEntityById } from '../identity/entities.store.ts';
import { ensureEntityForAlias } from '../identity/operations.ts';
import { listEntityPolicies } from '../identity/persons.operations.ts';
import { nameKey } from '../identity/record.ts';
import { retryOnConflict } from '../standing/attempts.operations.ts';
import { mintToken, nowSeconds } from '../tokens/minting.operations.ts';
import { noteToken } from '../tokens/recorded.ts';
import { type LogIn, planLogIn } from '../tokens/settings.ts';
import { answerMinted } from './minted.operations.ts';

/**
 * Makes the token of a log-in that has succeeded, together with the effects it had. It stands for the entity of the
 * mount's `alias`, which is made at the first log-in. The user or role is read again when somebody else has changed it
 * meanwhile: a right log-in is never refused for that.
 *
 * @param find reads the user or role whenever it is called; undefined: the log-in is refused
 * @returns undefined when the log-in is refused, or its entity is disabled
 * @throws Failure `unavailable` when it is changed again and again
 */
export async function logInIfFound(
  app: App,
  caller: Caller,
  find: () => Promise<SucceededLogIn | undefined>,
): Promise<AuthResult | undefined> {
  // Who it is, and so where that is changed, is known once it was found.
  const line = { app, key: '' };
  const attempt = async (): Promise<AuthResult | undefined> => {
    const found = await find();
    if (!found) return undefined;
    line.key = found.line;
    try {
      return await logIn(app, caller, found);
    } catch (error) {
      if (error instanceof Failure && error.kind === 'forbidden') return undefined;
      throw error;
    }
  };
  try {
    return await retryOnConflict(app, caller, attempt, line);
  } catch (error) {
    if (!isConflict(error)) throw error;
    throw new Failure('unavailable', 'what this log-in rests on is being changed; try again', {
      cause: error,
    });
  }
}

/**
 * Whether the entity of a mount's alias is enabled. It is part of the credentials check, and asked whether or not that
 * succeeds: a refusal of its own would tell that a password is right, and count as no failure. As much is read whether
 * or not there is an entity, so that timing does not tell.
 */
export async function mayComeIn(app: App, mount: Mount, alias: string): Promise<boolean> {
  const known = await findAlias(app.db, mount.accessor, alias);
  const entity = await findEntityById(app.db, known?.entity_id ?? NOBODY);
  return !entity?.disabled;
}

/** The id of nothing. */
const NOBODY = '';

/** @throws Failure `forbidden` for whoever it stands for */
async function logIn(app: App, caller: Caller, input: SucceededLogIn): Promise<AuthResult> {
  const person = await ensureEntityForAlias(app, caller.mount, input.alias);
  // Whoever has more policies than are read gets no token that could not be used. Who is new has
  // none, and is not to be remembered as somebody who is not there.
  if (!person.is_new) await listEntityPolicies(app, person.entity.id);
  return logInAs(app, caller, input, person);
}

/** Somebody who has proved to be who they say. */
export interface SucceededLogIn extends Pick<LogIn, 'settings' | 'display_name' | 'meta'> {
  /** Name of the mount's alias for whoever logs in. */
  alias: string;
  /** Key of the line by which the user or role is changed. */
  line: string;
  effects?: readonly Effect[];
  /** What takes long, and so is planned once nothing but somebody else's change can refuse the log-in. */
  planLast?(): Promise<Effect>;
}

async function logInAs(
  app: App,
  caller: Caller,
  input: SucceededLogIn,
  { entity, alias, effects }: Awaited<ReturnType<typeof ensureEntityForAlias>>,
): Promise<AuthResult> {
  if (entity.disabled) throw new Failure('forbidden', 'permission denied');
  const mount = await presentMount(app, caller.mount);
  const { token: plan, warnings } = planLogIn({
    ...input,
    entity_id: entity.id,
    alias: {
      id: alias.id,
      mount_accessor: alias.mount_accessor,
      name_key: nameKey(alias.name),
      ...(alias.moves === 0 ? {} : { moves: alias.moves }),
    },
    remote_address: caller.record.remote_address,
    path: caller.record.path,
    mount: {
      id: mount.id,
      token_type: mount.config.token_type,
      ...effectiveLeaseTtls(mount.config),
    },
    now: nowSeconds(app),
  });
  const minted = mintToken(app, plan);
  noteToken(caller, minted.token);
  const last = await input.planLast?.();
  // In the order in which a removal takes them: the account, then what it is called.
  await app.commitOnce(caller, [
    ...holdSettings(mount),
    ...(input.effects ?? []),
    ...(last ? [last] : []),
    ...effects,
    ...minted.effects,
  ]);
  return answerMinted(app, minted, warnings);
}
