import { isOfCluster, sinceWhen } from '../../../core/clusters.ts';
import { Failure } from '../../../core/failure.ts';
import type { SignatureAlgorithm } from '../../../x509/algorithms.ts';
import type { CrlFrame } from '../../../x509/crl.ts';
import type { AssembledCrl } from '../../../x509/crl-assembly.ts';
import type { ListedRevocation, Revocation } from '../../mount-state/revocations.store.ts';
import { ALL } from '../kind.ts';
import { ALL_SERIALS, isWithin, rangeOf, type SerialRange, type Shard } from '../shards.ts';

/** Which revocations are on a CRL. CRLs of one scope differ only by what came in between. */
export interface CrlScope {
  /** Ids of the issuers whose revocations are on it. */
  members: readonly string[];
  /** All issuers that there are, when revocations of no known issuer are on it too. */
  known: readonly string[] | null;
  /** The epoch of the mount's revocations. */
  epoch: number;
  /** Nothing is on it, whatever is revoked. */
  empty: boolean;
  /** Revoked authorities of the mount that the issuers signed: serial number, time and reason, in order of the first. */
  authorities?: readonly (readonly [serial: string, revoked_at_ms: number, reason?: number])[];
  /** Serial numbers of the issuers' own certificates that are revoked: they are never on a CRL that these sign. */
  own?: readonly string[];
  /** Of a delta CRL: revocations of this revision and of earlier ones are not on it. */
  after?: number;
  /** The cluster whose revocations are on it, or {@link ALL}; left out: the one without a name. */
  of?: string;
  /** The part of the certificates that it is for; left out: all of them. */
  shard?: Shard;
}

/** Whose entries can be on a CRL, by their serial numbers. */
export const serialsOf = ({ shard }: Pick<CrlScope, 'shard'>): SerialRange =>
  shard ? rangeOf(shard) : ALL_SERIALS;

/** The entries of a CRL, as the revocations of a mount give them. */
export interface CrlInput {
  mount_id: string;
  /** {@link CrlScope} as JSON. */
  scope: string;
  /** Revocations up to this revision are on it. */
  revision: number;
  /** Which of them are not on it any more; undefined: all are. */
  past?: Past;
}

/**
 * Entries that an earlier CRL has shown after their certificate had run out, and that later ones need not have
 * (RFC 5280 §3.3): of revocations up to this revision those whose certificate ended before this instant, in Unix seconds.
 */
export interface Past {
  ended_before: number;
  revision: number;
}

const NOTHING_PAST: Past = { ended_before: 0, revision: 0 };

export const pastOf = ({ past = NOTHING_PAST }: CrlInput): Past => past;

/** Says whether an entry is not on a CRL any more. */
export const isPast = (
  { ended_before, revision }: Past,
  revocation: Pick<ListedRevocation, 'not_after' | 'revision'>,
): boolean => revocation.not_after < ended_before && revocation.revision <= revision;

/**
 * What is past on the CRL that follows one: all that ended before that one was made, and was on it. One of another scope has
 * shown other entries.
 *
 * @param this_update of the CRL before, in Unix seconds
 */
export function planPast(
  before: (CrlInput & { this_update: number }) | undefined,
  scope: string,
): Past {
  if (!before || !hasSameEntries(before.scope, scope)) return NOTHING_PAST;
  // Of a clock that was set back: until it has caught up, nothing more is past.
  if (before.this_update < pastOf(before).ended_before) return pastOf(before);
  return { ended_before: before.this_update, revision: before.revision };
}

/** That revocations have been taken away since takes nothing from what was shown. */
function hasSameEntries(a: string, b: string): boolean {
  const withoutEpoch = (scope: string): string => {
    const parsed: CrlScope = JSON.parse(scope);
    return JSON.stringify({ ...parsed, epoch: 0 });
  };
  return a === b || withoutEpoch(a) === withoutEpoch(b);
}

/** A CRL that was made before, and what of. */
export interface FinishedCrl extends CrlInput {
  crl: AssembledCrl;
}

/** A CRL to be made. Everything in it can be handed to another thread. */
export interface CrlJob {
  content: CrlInput;
  /** An earlier CRL, whose entries are taken over if they can be. */
  basis: FinishedCrl | undefined;
  frame: CrlFrame;
  algorithm: SignatureAlgorithm;
  /** Most entries; -1: as many as there are. */
  max_entries: number;
}

/** How many revocations may be on a CRL, at most. */
export function spanOf({ scope, revision }: CrlInput): number {
  const { after = 0 }: CrlScope = JSON.parse(scope);
  return revision - after;
}

/** Says whether a CRL can be made of an earlier one and the revocations since. */
export function isBasis(basis: FinishedCrl | undefined, content: CrlInput): boolean {
  return (
    basis !== undefined &&
    basis.mount_id === content.mount_id &&
    basis.scope === content.scope &&
    basis.revision <= content.revision &&
    pastOf(basis).ended_before <= pastOf(content).ended_before &&
    pastOf(basis).revision <= pastOf(content).revision
  );
}

/** A test for many revocations: whether one belongs on a CRL of this scope. */
export function isListedIn(
  scope: CrlScope,
): (revocation: Revocation & { clusters: string }) => boolean {
  const members = new Set(scope.members);
  const known = scope.known && new Set(scope.known);
  let last: string | undefined;
  let verdict = false;
  const apart = apartFrom(scope);
  const { of = '' } = scope;
  const range = scope.shard && rangeOf(scope.shard);
  return ({ issuer_id, serial, clusters }) => {
    if (range && !isWithin(range, serial)) return false;
    if (apart.size > 0 && apart.has(serial)) return false;
    if (of !== ALL && !isOfCluster(clusters, of)) return false;
    // Neighbours mostly have the same issuer.
    if (issuer_id !== last) {
      last = issuer_id;
      verdict =
        !scope.empty && (members.has(issuer_id) || (known !== null && !known.has(issuer_id)));
    }
    return verdict;
  };
}

/**
 * A revocation with the revision from which it is on CRLs of a scope: where its cluster was not the first to revoke it,
 * that is a later one.
 */
export function asSeenBy<Row extends ListedRevocation>({ of = '' }: CrlScope, row: Row): Row {
  if (row.joined === '' || of === ALL) return row;
  return { ...row, revision: sinceWhen(row, of) ?? row.revision };
}

/** Serial numbers that are on the CRL, or are not, whatever the revocations say. */
const apartFrom = ({ authorities = [], own = [] }: CrlScope): Set<string> =>
  new Set([...authorities.map(([serial]) => serial), ...own]);

/** @throws Failure `conflict` for a CRL that is longer than it may be */
export function refuseLongCrl(count: number, max_entries: number): void {
  if (max_entries === -1 || count <= max_entries) return;
  throw new Failure(
    'conflict',
    `the CRL would have more than max_crl_entries (${max_entries}) entries; raise it in config/crl, or set it to -1`,
  );
}
