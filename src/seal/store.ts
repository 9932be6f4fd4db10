import { build, type Db, prepared } from '../store/database.ts';
import { preparedHold } from '../store/held.ts';
import { type Write, write } from '../store/write.ts';
import type { KeyringRow } from './keyring.ts';
import type { Seal, SealKind } from './seal.ts';

const findSealRow = prepared((from) => from.selectFrom('seal').selectAll());

/** The seal of this installation; undefined before it is initialised. */
export async function findSeal(db: Db): Promise<Seal | undefined> {
  const row = await findSealRow.first(db, {});
  if (row === undefined) return undefined;
  const { id: _, kind, ...rest } = row;
  return { ...rest, kind: sealKind(kind) };
}

function sealKind(kind: string): SealKind {
  if (kind === 'shamir' || kind === 'keyfile') return kind;
  throw new Error(`the stored seal is of an unknown kind, "${kind}"`);
}

export function insertSeal(seal: Seal): Write {
  return write(build.insertInto('seal').values({ id: 1, ...seal }), {
    rows: 1,
    conflict: 'Vault is already initialized',
  });
}

const REKEYED = 'the keys were changed in the meantime: start over';

/**
 * Replaces the seal after a rekeying.
 *
 * @param seal with the generation that follows the stored one
 */
export function replaceSeal(seal: Seal): Write {
  const { shares, threshold, generation, root_key_sealed, recovery_hash_sealed, share_hashes } =
    seal;
  return write(
    build
      .updateTable('seal')
      .set({ shares, threshold, generation, root_key_sealed, recovery_hash_sealed, share_hashes })
      .where('generation', '=', generation - 1),
    { rows: 1, conflict: REKEYED },
  );
}

const holdGeneration = preparedHold<{ generation: number }>(
  (from, { generation }) =>
    // As its own at once: the write set may go on to fill in hashes.
    from.selectFrom('seal').select('id').where('generation', '=', generation).forUpdate(),
  { rows: 1, conflict: REKEYED },
);

/**
 * Refuses its write set once a rekeying, on any node, has replaced the seal. Whatever shares authorise
 * carries it: what is durable after the answer to a rekeying was authorised by the new shares.
 */
export function holdSeal({ generation }: Pick<Seal, 'generation'>): Write {
  return holdGeneration({ generation });
}

/** Fills in the hashes of the shares where they are not known; of another seal than this, nothing. */
export function saveShareHashes({ generation }: Seal, share_hashes: Uint8Array): Write {
  return write(
    build
      .updateTable('seal')
      .set({ share_hashes })
      .where('generation', '=', generation)
      .where('share_hashes', 'is', null),
  );
}

const keyringRows = prepared((from) =>
  from.selectFrom('seal_key').selectAll().orderBy('use').orderBy('term'),
);

export async function listKeyring(db: Db): Promise<KeyringRow[]> {
  const rows = await keyringRows.all(db, {});
  return rows.map((row) => ({ ...row, use: keyUse(row.use) }));
}

function keyUse(use: string): KeyringRow['use'] {
  if (use === 'data' || use === 'hash') return use;
  throw new Error(`a stored key is of an unknown use, "${use}"`);
}

const newestTerm = prepared((from) =>
  from.selectFrom('seal_key').select('term').orderBy('term', 'desc').limit(1),
);

/** The newest generation of data keys; 0 before initialisation. */
export async function findNewestTerm(db: Db): Promise<number> {
  const row = await newestTerm.first(db, {});
  return row?.term ?? 0;
}

export function insertKey(row: KeyringRow): Write {
  return write(build.insertInto('seal_key').values(row), {
    rows: 1,
    conflict: 'another node has rotated the keys at the same moment',
  });
}
