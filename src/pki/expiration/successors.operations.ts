import { createHash, hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import type { Db } from '../../store/database.ts';
import type { Certificate } from '../../x509/certificate.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import { type End, findLaterEnd, listNamed, listNames } from './candidates.store.ts';

/** Certificates that are looked at together, and in all for one whose successor is looked for. */
const PAGE = 200;
const MOST_LOOKED_AT = 5_000;
const MOST_PAGES = 100;
/** Names that are compared in one statement, which takes some milliseconds. */
const COMPARED = 4_000;
/** Names of which the rarest is looked for. */
const TRIED = 8;

/** What is known of all certificates with the same names. */
interface Known {
  /** One ends then. */
  latest: number;
  /** None ends after that. */
  none_after: number;
}

/** Finds out whether certificates have successors: for those of one page, which often have the same names. */
export class Successors {
  readonly #db: Db;
  readonly #mount_id: string;
  readonly #lost: readonly string[];
  readonly #known = new Map<string, Known>();

  /** @param issuers all of the mount: what one that is revoked has signed succeeds nothing, nor what is beneath that */
  constructor(db: Db, mount_id: string, issuers: ReadonlyMap<string, Issuer>) {
    this.#db = db;
    this.#mount_id = mount_id;
    this.#lost = [...listLost(issuers)];
  }

  /**
   * Whether another certificate of the mount that is not revoked, nor its issuer, has all names of one, and ends later. One that has
   * not been found among {@link MOST_LOOKED_AT} counts as none: whoever is warned for nothing loses less than who is not.
   *
   * @returns with the first of its names
   */
  async look(of: End, shown: number): Promise<{ has: boolean; names: string[]; count: number }> {
    const reversed = await listNames(this.#db, this.#mount_id, of.serial);
    const has = reversed.length > 0 && (await this.#has(of, reversed));
    const names = reversed.slice(0, shown).map((name) => [...name].reverse().join(''));
    return { has, names, count: reversed.length };
  }

  async #has(of: End, reversed: readonly string[]): Promise<boolean> {
    const key = createHash('sha256').update(reversed.join('\0')).digest('base64');
    const known = this.#known.get(key) ?? { latest: 0, none_after: Number.POSITIVE_INFINITY };
    if (known.latest > of.not_after) return true;
    if (known.none_after <= of.not_after) return false;
    const found = await this.#find(of, reversed);
    if (found === undefined) known.none_after = of.not_after;
    else known.latest = found;
    this.#known.set(key, known);
    return found !== undefined;
  }

  async #find(of: End, reversed: readonly string[]): Promise<number | undefined> {
    const name = await this.#rarest(reversed);
    const limit = Math.max(1, Math.min(PAGE, Math.floor(COMPARED / reversed.length)));
    let after = '';
    const pages = Math.min(MOST_PAGES, MOST_LOOKED_AT / limit);
    for (let page = 0; page < pages; page += 1) {
      const where = { reversed: name, after, limit };
      const among = await listNamed(this.#db, this.#mount_id, where);
      const wanted = { not_after: of.not_after, reversed };
      const found = await findLaterEnd(this.#db, this.#mount_id, wanted, among, this.#lost);
      if (found !== undefined || among.length < limit) return found;
      after = among.at(-1) ?? '';
      await nextTurn();
    }
    return undefined;
  }

  /** A name that few have, or the first. */
  async #rarest(reversed: readonly string[]): Promise<string> {
    const [first = ''] = reversed;
    for (const name of reversed.slice(0, TRIED)) {
      const where = { reversed: name, after: '', limit: PAGE };
      const some = await listNamed(this.#db, this.#mount_id, where);
      if (some.length < PAGE) return name;
    }
    return first;
  }
}

const subjectHash = memoizeWeak(({ subject }: Certificate): string => hash('sha256', subject));
const keyHash = memoizeWeak(({ subjectPublicKeyInfo }: Certificate): string =>
  hash('sha256', subjectPublicKeyInfo),
);

/** Finds out whether issuers of a mount have successors: others of the same subject or the same key that end later. */
export class IssuerSuccessors {
  readonly #latestOf = new Map<string, number>();

  /** @param issuers all of the mount: what is revoked, or beneath one that is, succeeds nothing */
  constructor(issuers: ReadonlyMap<string, Issuer>) {
    const lost = listLost(issuers);
    for (const { id, certificate } of issuers.values()) {
      if (lost.has(id)) continue;
      for (const key of keysOf(certificate)) {
        const latest = this.#latestOf.get(key) ?? 0;
        this.#latestOf.set(key, Math.max(latest, certificate.notAfter));
      }
    }
  }

  has({ certificate }: Pick<Issuer, 'certificate'>): boolean {
    return keysOf(certificate).some((key) => (this.#latestOf.get(key) ?? 0) > certificate.notAfter);
  }
}

/** Ids of issuers that are revoked, and of those beneath them. */
const listLost = memoizeWeak((issuers: ReadonlyMap<string, Issuer>): ReadonlySet<string> => {
  const beneath = Map.groupBy(issuers.values(), ({ signed_by }) => signed_by);
  const revoked = [...issuers.values()].filter(({ revoked_at_ms }) => revoked_at_ms !== undefined);
  const lost = new Set(revoked.map(({ id }) => id));
  // What is added meanwhile comes at the end.
  for (const id of lost) for (const one of beneath.get(id) ?? []) lost.add(one.id);
  return lost;
});

const keysOf = (certificate: Certificate): string[] => [
  `subject ${subjectHash(certificate)}`,
  `key ${keyHash(certificate)}`,
];
