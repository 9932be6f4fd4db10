import { z } from 'zod';
import type { KeyringRow } from '../barrier/keyring.ts';
import { build, type Db, prepared } from '../store/database.ts';
import { preparedHold } from '../store/held.ts';
import { type Write, write } from '../store/write.ts';
import { findSealKind, type Seal, type SealKind } from './seal.ts';

const findSealRow = prepared((from) => from.selectFrom('seal').selectAll());

/** The seal of this installation; undefined before it is initialised. */
export async function findSeal(db: Db): Promise<Seal | undefined> {
  const row = await findSealRow.first(db, {});
  if (row === undefined) return undefined;
  const { id: _, kind, ...rest } = row;
  return { ...rest, kind: sealKind(kind) };
}

function sealKind(kind: string): SealKind {
  const known = findSealKind(kind);
  if (known) return known;
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
 * Replaces the seal after a rekeying, and leaves nothing that other shares open: neither the former seal nor
 * one that was to follow it. Refused while another one is to follow than this or the known one.
 *
 * @param seal with the generation that follows the stored one
 * @param known another seal that was to follow, and that may be given up
 */
export function replaceSeal(seal: Seal, known?: Seal): Write[] {
  const { shares, threshold, generation, root_key_sealed, recovery_hash_sealed, share_hashes } =
    seal;
  const bodies = [seal, ...(known ? [known] : [])].map(encodeNext);
  return [
    // First, and by itself: what is stored beside the seal is looked at when nobody else can store it.
    holdSeal({ generation: generation - 1 }),
    write(
      build
        .updateTable('seal')
        .set({ shares, threshold, generation, root_key_sealed, recovery_hash_sealed, share_hashes })
        .where('generation', '=', generation - 1)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('seal_next')
                .select('id')
                .where('generation', '=', generation)
                .where('body', 'not in', bodies),
            ),
          ),
        ),
      { rows: 1, conflict: REKEYED },
    ),
    write(build.deleteFrom('seal_next')),
  ];
}

/** Puts the seal in force that another kind of seal is moved to. Refused while a rekeying is not finished. */
export function replaceMigrated(seal: Seal): Write[] {
  const { kind, generation, root_key_sealed, recovery_hash_sealed, seal_key_wrapped } = seal;
  return [
    holdSeal({ generation: generation - 1 }),
    write(
      build
        .updateTable('seal')
        .set({ kind, generation, root_key_sealed, recovery_hash_sealed, seal_key_wrapped })
        .where('generation', '=', generation - 1)
        .where(({ not, exists, selectFrom }) =>
          not(exists(selectFrom('seal_next').select('id').where('generation', '=', generation))),
        ),
      { rows: 1, conflict: REKEYED },
    ),
  ];
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

/**
 * Keeps the seal that is to follow, whose shares are in nobody's hands yet; it is not in force. Refused while
 * another one is to follow than the known one: somebody may be about to hand out its shares.
 *
 * @param known another seal that was to follow, and that may be given up
 */
export function saveNextSeal(seal: Seal, known?: Seal): Write {
  const { generation } = seal;
  const body = encodeNext(seal);
  return write(
    build
      .insertInto('seal_next')
      .values({ id: 1, generation, body })
      .onConflict((clash) =>
        clash
          .column('id')
          .doUpdateSet({ generation, body })
          .where((at) =>
            at.or([
              at('seal_next.generation', '<', generation),
              at('seal_next.body', '=', known ? encodeNext(known) : body),
            ]),
          ),
      ),
    { rows: 1, conflict: REKEYED },
  );
}

const nextRow = prepared((from) => from.selectFrom('seal_next').selectAll());

/** The seal that is to follow one; undefined when there is none. */
export async function findNextSeal(db: Db, seal: Seal): Promise<Seal | undefined> {
  const row = await nextRow.first(db, {});
  return row?.generation === seal.generation + 1 ? decodeNext(row.body, seal) : undefined;
}

/** Whether a seal is stored that follows none in force: an earlier program left those that it replaced. */
export async function hasReplacedSeal(db: Db, { generation }: Seal): Promise<boolean> {
  const row = await nextRow.first(db, {});
  return row !== undefined && row.generation <= generation;
}

/** Deletes what {@link hasReplacedSeal} tells of. */
export function deleteReplacedSeal({ generation }: Seal): Write {
  return write(build.deleteFrom('seal_next').where('generation', '<=', generation));
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

/** Keeps a seal key as it was encrypted anew. Refused where it is another one by now, or encrypted otherwise. */
export function saveWrappedSealKey(read: Uint8Array, seal_key_wrapped: Uint8Array): Write {
  return write(
    build.updateTable('seal').set({ seal_key_wrapped }).where('seal_key_wrapped', '=', read),
    { rows: 1, conflict: 'the seal was changed at the same moment' },
  );
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
