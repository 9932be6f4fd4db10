/** What is in a record in place of a text that cannot be hashed. */
export const UNTOLD = '…';

/**
 * So many different secrets of one record have each a hash of their own, which takes some microseconds. The first of
 * those beyond has the hash of all of these, with commas between; a comma in one of them, and a backslash, has a backslash before it.
 */
const MOST_HASHED = 1024;

const SEPARATORS = /[\\,]/;

/** Hashes of one record's secrets, of whatever kind: they are counted together. */
export class Hashes {
  readonly #hash: (secret: string) => string;
  /** Made when it is needed: most records have no secret. */
  #known: Map<string, string> | undefined;

  /** @param hash of a secret, as it is to stand in the record; free of what JSON escapes */
  constructor(hash: (secret: string) => string) {
    this.#hash = hash;
  }

  /** @returns undefined: there have been too many for this one */
  find(secret: string): string | undefined {
    this.#known ??= new Map();
    const before = this.#known.get(secret);
    if (before !== undefined || this.#known.size >= MOST_HASHED) return before;
    const hashed = this.#hash(secret);
    this.#known.set(secret, hashed);
    return hashed;
  }

  ofAll(secrets: readonly string[]): string {
    const isPlain = secrets.every((secret) => !SEPARATORS.test(secret));
    const told = isPlain ? secrets : secrets.map((secret) => secret.replaceAll(/[\\,]/g, '\\$&'));
    return this.#hash(told.join());
  }
}

/** A text as it is told, put together from its beginning to its end. */
export class Told {
  readonly #text: string;
  readonly #hashes: Hashes;
  readonly #parts: string[] = [];
  readonly #further: string[] = [];
  #first = 0;
  #end = 0;

  constructor(text: string, hashes: Hashes) {
    this.#text = text;
    this.#hashes = hashes;
  }

  /** A hash in the place of what stands between two places, the earlier of which is not before what was hidden last. */
  hide(from: number, end: number, secret: string): void {
    this.put(from, end, this.#stand(secret));
  }

  put(from: number, end: number, instead: string): void {
    this.#parts.push(this.#text.slice(this.#end, from), instead);
    this.#end = end;
  }

  #stand(secret: string): string {
    const hashed = this.#hashes.find(secret);
    if (hashed !== undefined) return hashed;
    // Where it will be among the parts.
    if (this.#further.push(secret) === 1) this.#first = this.#parts.length + 1;
    return UNTOLD;
  }

  whole(): string {
    if (this.#end === 0) return this.#text;
    if (this.#further.length > 0) this.#parts[this.#first] = this.#hashes.ofAll(this.#further);
    this.#parts.push(this.#text.slice(this.#end));
    return this.#parts.join('');
  }
}
