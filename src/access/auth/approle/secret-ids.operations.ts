import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import type { JobRun } from '../../../app/job.ts';
import type { DataResult, NothingResult } from '../../../app/output.ts';
import { hashSecret } from '../../../audit/operations.ts';
import { Failure, invalid } from '../../../core/failure.ts';
import { type KeyList, type KeyPage, listKeys, listMatching } from '../../../core/key-list.ts';
import { startFilling } from '../../concurrency/walks.operations.ts';
import { commitInTurn, type Planned } from '../../standing/attempts.operations.ts';
import { nowSeconds } from '../../tokens/minting.operations.ts';
import { isAlive } from '../../tokens/token.ts';
import { keyOf, lineOfApprole, type RoleName, requireRole } from './operations.ts';
import {
  describeSecretId,
  type MadeSecretId,
  planSecretId,
  type SecretId,
  type SecretIdBody,
  type SecretIdReply,
  type SecretIdRequest,
} from './secret-id.ts';
import {
  DELETED_AT_ONCE,
  deleteExpiredSecretIds,
  deleteSecretId,
  findSecretId,
  findSecretIdByAccessor,
  holdApprole,
  insertSecretId,
  listExpiredSecretIds,
  listSecretIds,
  measureApprole,
} from './store.ts';

type BySecretId = RoleName & { secret_id: string };
type ByAccessor = RoleName & { secret_id_accessor: string };

/** The key of a secret ID's row; one text may be in use on several mounts. */
export function secretKey(app: App, mount_id: string, secret_id: string): string {
  return app.barrier.hmac('token', `secret-id:${mount_id}:${secret_id}`).toString('base64url');
}

/** @param input.secret_id a text of the operator's choice; random when empty */
export async function createSecretId(
  app: App,
  caller: Caller,
  input: BySecretId & SecretIdRequest,
): Promise<DataResult<MadeSecretId>> {
  const key = keyOf(caller, input);
  const now = nowSeconds(app);
  const secret_id = input.secret_id || app.newId();
  const named = {
    id: secretKey(app, key.mount_id, secret_id),
    accessor: app.newId(),
    mount_id: key.mount_id,
  };
  const plan = async (): Promise<Planned<SecretIdBody>> => {
    const role = await requireRole(app, caller, input);
    const planned = planSecretId(role.rules, input, now);
    const expires_at = planned.ttl > 0 ? now + planned.ttl : undefined;
    const known = await findSecretId(app.db, named.id);
    if (known && isAlive(known, now)) throw new Failure('conflict', KNOWN);
    const secret = { ...planned, ...named, role: role.name, expires_at };
    const effects = [
      holdApprole(key, role),
      ...(known ? [deleteSecretId(known)] : []),
      insertSecretId({ ...secret, uses_left: planned.num_uses }),
    ];
    const outcome = { secret_id_accessor: named.accessor };
    return { effects, result: planned, outcome };
  };
  const line = lineOfApprole(key);
  const bytes = await measureApprole(app.db, key);
  const body = await commitInTurn(app, caller, plan, { key: line, changes: false, bytes });
  return {
    data: {
      secret_id,
      secret_id_accessor: named.accessor,
      secret_id_num_uses: body.num_uses,
      secret_id_ttl: body.ttl,
    },
    wrapped_accessor: named.accessor,
  };
}

const KNOWN = 'the secret ID exists already';

export async function createCustomSecretId(
  app: App,
  caller: Caller,
  input: BySecretId & SecretIdRequest,
): Promise<DataResult<MadeSecretId>> {
  if (input.secret_id === '') throw invalid('missing secret_id');
  return createSecretId(app, caller, input);
}

export async function listSecretIdAccessors(
  app: App,
  caller: Caller,
  input: RoleName,
): Promise<KeyList> {
  await requireRole(app, caller, input);
  const key = keyOf(caller, input);
  const now = nowSeconds(app);
  const fillPage = startFilling(app, caller);
  const list = async (page: KeyPage) => {
    const { rows, more } = await listSecretIds(app.db, key, page);
    const keys = rows.map((secret) => ({ key: secret.accessor, is_listed: isAlive(secret, now) }));
    return { rows: keys, more };
  };
  return listKeys(
    (page) => fillPage((read) => listMatching((some) => read(() => list(some)), page)),
    {},
  );
}

/** Deletes secret IDs that have run out; those that are spent go with their last log-in. */
export async function tidySecretIds(app: App, turn: JobRun): Promise<void> {
  while (!turn.stopping) {
    const now = nowSeconds(app);
    const ids = await listExpiredSecretIds(app.db, now, DELETED_AT_ONCE);
    if (ids.length === 0) return;
    await turn.commit([deleteExpiredSecretIds(ids, now)], { removed: ids.length });
  }
}

async function findOfRole(
  app: App,
  caller: Caller,
  input: BySecretId,
): Promise<SecretId | undefined> {
  const secret = await findSecretId(app.db, secretKey(app, caller.mount.id, input.secret_id));
  const found = secret?.role === keyOf(caller, input).name ? secret : undefined;
  Object.assign(
    caller.record.outcome,
    found
      ? { secret_id_accessor: found.accessor }
      : { secret_id: hashSecret(app, input.secret_id) },
  );
  return found;
}

async function requireOfRole(app: App, caller: Caller, input: ByAccessor): Promise<SecretId> {
  const { mount_id, name } = keyOf(caller, input);
  const secret = await findSecretIdByAccessor(app.db, input.secret_id_accessor);
  caller.record.recognised = secret !== undefined;
  if (secret?.mount_id === mount_id && secret.role === name) return secret;
  throw new Failure('not_found', 'failed to find accessor entry for secret_id_accessor');
}

export async function lookUpSecretId(
  app: App,
  caller: Caller,
  input: BySecretId,
): Promise<DataResult<SecretIdReply> | NothingResult> {
  const secret = await findOfRole(app, caller, input);
  return secret && isAlive(secret, nowSeconds(app)) ? { data: describeSecretId(secret) } : {};
}

export async function destroySecretId(
  app: App,
  caller: Caller,
  input: BySecretId,
): Promise<NothingResult> {
  const secret = await findOfRole(app, caller, input);
  if (secret) await app.commit(caller, [deleteSecretId(secret)]);
  return {};
}

export async function lookUpSecretIdAccessor(
  app: App,
  caller: Caller,
  input: ByAccessor,
): Promise<DataResult<SecretIdReply>> {
  return { data: describeSecretId(await requireOfRole(app, caller, input)) };
}

export async function destroySecretIdAccessor(
  app: App,
  caller: Caller,
  input: ByAccessor,
): Promise<NothingResult> {
  const secret = await requireOfRole(app, caller, input);
  await app.commit(caller, [deleteSecretId(secret)]);
  return {};
}
