import { z } from 'zod';
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

/** Keeps the seal that is to follow, whose shares are in nobody's hands yet; it is not in force. */
export function saveNextSeal(seal: Seal): Write {
  const row = { id: 1, generation: seal.generation, body: encodeNext(seal) } as const;
  const { generation, body } = row;
  return write(
    build
      .insertInto('seal_next')
      .values(row)
      .onConflict((clash) => clash.column('id').doUpdateSet({ generation, body })),
    { rows: 1 },
  );
}

const nextRow = prepared((from) => from.selectFrom('seal_next').selectAll());

/** The seal that is to follow one; undefined when there is none. */
export async function findNextSeal(db: Db, seal: Seal): Promise<Seal | undefined> {
  const row = await nextRow.first(db, {});
  return row?.generation === seal.generation + 1 ? decodeNext(row.body, seal) : undefined;
}

const nextSchema = z.object({
  shares: z.number(),
  threshold: z.number(),
  generation: z.number(),
  root_key_sealed: z.string(),
  recovery_hash_sealed: z.string().nullable(),
  share_hashes: z.string().nullable(),
});

function encodeNext(seal: Seal): string {
  const { shares, threshold, generation } = seal;
  const { root_key_sealed, recovery_hash_sealed, share_hashes } = seal;
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
  const next: z.output<typeof nextSchema> = {
    shares,
    threshold,
    generation,
    root_key_sealed: text(root_key_sealed),
    recovery_hash_sealed: recovery_hash_sealed && text(recovery_hash_sealed),
    share_hashes: share_hashes && text(share_hashes),
  };
  return JSON.stringify(next);
}

/** @param seal the one before: whose seal it is and of what kind stays as it is */
function decodeNext(body: string, seal: Seal): Seal {
  const next = nextSchema.parse(JSON.parse(body));
  const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'));
  const { root_key_sealed, recovery_hash_sealed, share_hashes } = next;
  return {
    ...seal,
    ...next,
    root_key_sealed: bytes(root_key_sealed),
    recovery_hash_sealed: recovery_hash_sealed === null ? null : bytes(recovery_hash_sealed),
    share_hashes: share_hashes === null ? null : bytes(share_hashes),
  };
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
