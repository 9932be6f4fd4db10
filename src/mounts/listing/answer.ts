/** What an answer says of mounts, each beneath its path. */
export type Said = readonly (readonly [path: string, about: () => object])[];

/** Mounts as an answer lists them: all of them, or those of each kind in a field of its own. */
export type Listing = Said | Readonly<Record<string, Said>>;

/** An answer's `data`; of many mounts, or long ones, as what it is written as. */
export interface Listed {
  data: Record<string, unknown>;
  long_data?: Iterable<string>;
}

/** Characters that are written at once: others have their turn between two pieces. */
const PIECE = 32 << 10;

/** What few mounts say is one text; what many say may have megabytes, and is written while it is sent. */
export function presentMounts(listing: Listing): Listed {
  const pieces = { [Symbol.iterator]: () => writeListing(listing) };
  return isShort(pieces) ? { data: dataOf(listing) } : { data: {}, long_data: pieces };
}

function isShort(pieces: Iterable<string>): boolean {
  let length = 0;
  for (const piece of pieces) {
    length += piece.length;
    if (length >= PIECE) return false;
  }
  return true;
}

const isSaid = (listing: Listing): listing is Said => Array.isArray(listing);

function dataOf(listing: Listing): Record<string, unknown> {
  if (isSaid(listing)) return Object.fromEntries(listing.map(([path, about]) => [path, about()]));
  return Object.fromEntries(Object.entries(listing).map(([name, said]) => [name, dataOf(said)]));
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
  for (const [path, about] of said) {
    piece += `${comma}${JSON.stringify(path)}:${JSON.stringify(about())}`;
    comma = ',';
    if (piece.length < PIECE) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}
