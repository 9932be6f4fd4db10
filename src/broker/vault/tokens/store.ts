import { holdAsRead } from '../../../store/as-read.ts';
import { build, type Db, prepared } from '../../../store/database.ts';
import { inBlocks } from '../../../store/in-blocks.ts';
import type { VaultTokenRow } from '../../../store/tables.ts';
import { type Write, write } from '../../../store/write.ts';
import type { TokenOwner, VaultToken, VaultTokenStatus } from './token.ts';

/** With whom it is asked for. */
type OwnedToken = VaultToken & TokenOwner;

const byId = prepared((sql, p: { id: string }) =>
  sql.selectFrom('vault_token').selectAll().where('id', '=', p.id),
);

export async function findVaultToken(db: Db, id: string): Promise<OwnedToken | undefined> {
  const row = await byId.first(db, { id });
  return row && tokenOf(row);
}

const latest = prepared((sql, p: { store_id: string }) =>
  sql
    .selectFrom('vault_token')
    .selectAll()
    .where('store_id', '=', p.store_id)
    .where('replaced_at', 'is', null),
);

/** The token that a store works with, whatever its state. */
export async function findLatestToken(db: Db, store_id: string): Promise<VaultToken | undefined> {
  const row = await latest.first(db, { store_id });
  return row && tokenOf(row);
}

/** The tokens that stores work with, without their secrets. */
export async function listLatestStatus(
  db: Db,
  store_ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await inBlocks(store_ids, (some) =>
    db
      .selectFrom('vault_token')
      .select(['store_id', 'status'])
      .where('store_id', 'in', some)
      .where('replaced_at', 'is', null)
      .execute(),
  );
  return new Map(rows.map(({ store_id, status }) => [store_id, status]));
}

/** How long what leads to the servers of some stores is, sealed. */
export async function listConnectionBytes(db: Db, store_ids: readonly string[]): Promise<number[]> {
  const rows = await inBlocks(store_ids, (some) =>
    db
      .selectFrom('vault_token')
      .select((row) => row.fn<number>('octet_length', ['secret_sealed']).as('bytes'))
      .where('store_id', 'in', some)
      .where('replaced_at', 'is', null)
      .execute(),
  );
  return rows.map(({ bytes }) => bytes);
}

interface Page {
  after: string;
  limit: number;
}

const all = prepared((sql, p: { after: string; limit: number }) =>
  sql
    .selectFrom('vault_token')
    .leftJoin('resource', 'resource.id', 'vault_token.store_id')
    .select(['vault_token.id', 'store_id', 'status', 'renew_at', 'expires_at', 'replaced_at'])
    .select('resource.id as found_id')
    .where('vault_token.id', '>', p.after)
    .orderBy('vault_token.id')
    .limit(p.limit),
);

/** A page of all tokens, in order of their ids, without their secrets, which may be long. */
export async function listVaultTokens(
  db: Db,
  { after, limit }: Page,
): Promise<(Omit<VaultToken, 'secret_sealed'> & { stored: boolean })[]> {
  const rows = await all.all(db, { after, limit });
  return rows.map(({ found_id, status, ...row }) => ({
    ...row,
    status: status as VaultTokenStatus,
    stored: found_id !== null,
  }));
}

/** A token that is replaced, as far as it matters who ends it. */
type Replaced = {
  id: string;
  token_mac: string;
  replaced_at: number;
};

const inUse = prepared((sql, p: { token_mac: string }) =>
  sql
    .selectFrom('vault_token')
    .select('id')
    .where('token_mac', '=', p.token_mac)
    .where('replaced_at', 'is', null)
    .where('status', '!=', 'expired')
    .limit(1),
);

const replacedLater = prepared((sql, p: Replaced & { now: number }) =>
  sql
    .selectFrom('vault_token')
    .select('id')
    .where('token_mac', '=', p.token_mac)
    .where((row) =>
      row(row.refTuple('replaced_at', 'id'), '>', row.tuple(row.val(p.replaced_at), row.val(p.id))),
    )
    .where('status', '!=', 'expired')
    .where('expires_at', '>', p.now)
    .limit(1),
);

/**
 * Whether another row has the same token, and ends it in its time: that of a store that works with it, or may do so again
 * before it expires, or one that was replaced later.
 *
 * @param now Unix seconds
 */
export async function isHeldOn(db: Db, replaced: Replaced, now: number): Promise<boolean> {
  const later = await replacedLater.first(db, { ...replaced, now });
  const current = await inUse.first(db, { token_mac: replaced.token_mac });
  return later !== undefined || current !== undefined;
}

const sameToken = prepared((sql, p: { token_mac: string }) =>
  sql.selectFrom('vault_token').selectAll().where('token_mac', '=', p.token_mac).limit(1),
);

const sameWorkingToken = prepared((sql, p: { token_mac: string }) =>
  sql
    .selectFrom('vault_token')
    .selectAll()
    .where('token_mac', '=', p.token_mac)
    .where('status', 'in', ['current', 'maintaining'])
    .limit(1),
);

/** Some row that has a token: one that is known to work, if there is any. */
export async function findSameToken(db: Db, token_mac: string): Promise<OwnedToken | undefined> {
  const working = await sameWorkingToken.first(db, { token_mac });
  const row = working ?? (await sameToken.first(db, { token_mac }));
  return row && tokenOf(row);
}

/** By which row of a token something is asked that was made with it: the one of then, or another while that is gone. */
export const findTokenOf = async (
  db: Db,
  { token_id, token_mac }: { token_id: string; token_mac: string },
): Promise<OwnedToken | undefined> =>
  (await findVaultToken(db, token_id)) ?? (await findSameToken(db, token_mac));

/** The hashes of tokens, as far as they are there. */
export async function listTokenMacs(
  db: Db,
  ids: readonly string[],
): Promise<ReadonlySet<string | null>> {
  const rows = await inBlocks(ids, (some) =>
    db.selectFrom('vault_token').select('token_mac').where('id', 'in', some).execute(),
  );
  return new Set(rows.map(({ token_mac }) => token_mac));
}

const unhashed = prepared((sql, p: { skipped: number; limit: number }) =>
  sql
    .selectFrom('vault_token')
    .select('id')
    .where('token_mac', 'is', null)
    .orderBy('replaced_at')
    .orderBy('id')
    .limit(p.limit)
    .offset(p.skipped),
);

/**
 * Ids of tokens that have no hash yet.
 *
 * @param page as those that get one are no longer among them, what a page begins after is what was left without
 */
export async function listUnhashedTokens(
  db: Db,
  page: { skipped: number; limit: number },
): Promise<string[]> {
  return (await unhashed.all(db, { ...page })).map(({ id }) => id);
}

/** Keeps a token's hash, unless it has one by now: that of how it is reached since. */
export function saveTokenMac(id: string, token_mac: string): Write {
  const unhashed = build.updateTable('vault_token').set({ token_mac }).where('id', '=', id);
  return write(unhashed.where('token_mac', 'is', null));
}

/** Refuses its write set where a store no longer works with a token: what was asked with it would end with it. */
export function holdCurrentToken(id: string): Write {
  const read = { status: 'current', replaced_at: null };
  return holdAsRead('vault_token', { key: { id }, read });
}

export function insertVaultToken(token: OwnedToken & { token_mac: string }): Write {
  return write(build.insertInto('vault_token').values(token), { rows: 1 });
}

/** Makes way for another token of the store; refuses the second of two that do so at once. */
export function replaceToken(id: string, now: number): Write {
  return write(
    build
      .updateTable('vault_token')
      .set((row) => ({
        replaced_at: now,
        status: row
          .case()
          .when('status', '=', 'current')
          .then('maintaining')
          .else(row.ref('status'))
          .end(),
      }))
      .where('id', '=', id)
      .where('replaced_at', 'is', null),
    { rows: 1 },
  );
}

/** How a token is reached, now that it was tried: what was found out by another way is forgotten. */
export function saveTokenSecret(
  id: string,
  reached: { secret_sealed: Uint8Array; token_mac: string },
): Write {
  return write(
    build
      .updateTable('vault_token')
      .set({ ...reached, status: 'current' })
      .where('id', '=', id)
      .where('replaced_at', 'is', null),
    { rows: 1 },
  );
}

/** Notes what became of a token, unless it is reached in another way by now, is another one's, or was replaced. */
export function saveTokenState(
  {
    id,
    status,
    secret_sealed,
    replaced_at,
  }: Pick<VaultToken, 'id' | 'status' | 'secret_sealed' | 'replaced_at'>,
  state: { status?: VaultTokenStatus; renew_at?: number; expires_at?: number },
): Write {
  return write(
    build
      .updateTable('vault_token')
      .set(state)
      .where('id', '=', id)
      .where('status', '=', status)
      .where('secret_sealed', '=', secret_sealed)
      .where('replaced_at', replaced_at === null ? 'is' : '=', replaced_at),
  );
}

export function deleteVaultToken(id: string): Write {
  return write(build.deleteFrom('vault_token').where('id', '=', id));
}

function tokenOf({ token_mac: _, ...row }: VaultTokenRow): OwnedToken {
  return { ...row, status: row.status as VaultTokenStatus };
}
