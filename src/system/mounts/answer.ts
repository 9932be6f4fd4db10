import type { Mount, MountKind } from '../../app/mount.ts';

/** Some mounts, and what an answer says of each beneath its path. It is said when it is written: of many that is not done at once. */
interface SaidOf<About extends object> {
  mounts: readonly Mount[];
  about(mount: Mount): About;
}

/** What an answer says of mounts. */
export type Said<About extends object = object> = readonly SaidOf<About>[];

/** Mounts as an answer lists them: all of them, or those of each kind in a field of its own. */
type Listing = Said | Readonly<Record<MountKind, Said>>;

/** An answer's `data` of many mounts, or long ones: what it is written as. */
interface Written {
  data: Record<string, never>;
  long_data: { pieces: Iterable<string>; kept: { waiting: number; sent: number } };
}

/** Characters that are written at once: others have their turn between two pieces. */
const PIECE = 32 << 10;

/** What few mounts say is one text; what many say may have megabytes, and is written while it is sent. */
export function presentMounts<About extends object>(
  said: Said<About>,
): { data: Record<string, About> } | Written {
  return writeLong(said) ?? { data: dataOf(said) };
}

/** As {@link presentMounts}, those of each kind by themselves. */
export function presentKinds<About extends object>(
  listing: Record<MountKind, Said<About>>,
): { data: Record<MountKind, Record<string, About>> } | Written {
  const data = () => ({ secret: dataOf(listing.secret), auth: dataOf(listing.auth) });
  return writeLong(listing) ?? { data: data() };
}

/** Undefined for a short one. */
function writeLong(listing: Listing): Written | undefined {
  const pieces = { [Symbol.iterator]: () => writeListing(listing) };
  if (isShort(pieces)) return undefined;
  const waiting =
    REFERENCE *
    (isSaid(listing) ? [listing] : Object.values(listing))
      .flat()
      .reduce((sum, { mounts }) => sum + mounts.length, 0);
  return { data: {}, long_data: { pieces, kept: { waiting, sent: waiting + PIECES * PIECE } } };
}

/** Bytes of a reference to a mount. */
const REFERENCE = 8;
/** So many pieces are there at once, with their bytes. */
const PIECES = 4;

function isShort(pieces: Iterable<string>): boolean {
  let length = 0;
  for (const piece of pieces) {
    length += piece.length;
    if (length >= PIECE) return false;
  }
  return true;
}

const isSaid = (listing: Listing): listing is Said => Array.isArray(listing);

function dataOf<About extends object>(said: Said<About>): Record<string, About> {
  return Object.fromEntries(
    said.flatMap(({ mounts, about }) => mounts.map((mount) => [mount.path, about(mount)])),
  );
}

/** The object's text without its braces. */
function* writeListing(listing: Listing): Generator<string, void, undefined> {
  if (isSaid(listing)) return yield* writeSaid(listing);
  let before = '';
  for (const [name, said] of Object.entries(listing)) {
    before += `${JSON.stringify(name)}:{`;
    for (const piece of writeSaid(said)) {
      yield before + piece;
      before = '';
    }
    before += '},';
  }
  yield before.slice(0, -1);
}

function* writeSaid(said: Said): Generator<string, void, undefined> {
  let piece = '';
  let comma = '';
  for (const { mounts, about } of said) {
    for (const mount of mounts) {
      piece += `${comma}${JSON.stringify(mount.path)}:${JSON.stringify(about(mount))}`;
      comma = ',';
      if (piece.length < PIECE) continue;
      yield piece;
      piece = '';
    }
  }
  if (piece !== '') yield piece;
}
