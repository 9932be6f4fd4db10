import { hash } from 'node:crypto';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import type { Certificate } from '../../x509/certificate.ts';
import { isRoot } from '../mount-state/chain.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import type { Key } from '../mount-state/key.ts';
import type { MountState } from '../mount-state/state.ts';
import { type CrlScope, serialsOf } from './builder/job.ts';
import type { CrlKind } from './kind.ts';
import { isWithin } from './shards.ts';

/** Issuers with the same subject and key: to the world they are one, with one CRL. */
export interface IssuerClass {
  /** Hex; stays the same while subject and key do. */
  id: string;
  members: readonly Issuer[];
  /** Ids of members that were removed; what they revoked is on the CRL as long as there is one. */
  former: readonly string[];
  /** A member that may sign CRLs, with its key; undefined: nobody may. */
  signer: { issuer: Issuer; key: Key } | undefined;
  /** Revocations whose issuer is not known go on this CRL. */
  takesUnassigned: boolean;
}

/** What an issuer is to the world: its subject and its key. */
export const classIdOf = ({ certificate }: Issuer): string => classOf(certificate);

const classOf = memoizeWeak(({ subject, subjectPublicKeyInfo }: Certificate): string =>
  hash('sha256', Buffer.concat([subject, subjectPublicKeyInfo])).slice(0, 40),
);

/** Works out the class of an issuer. @see P-123 */
export function planClass(mountState: MountState, issuer: Issuer): IssuerClass {
  const id = classIdOf(issuer);
  const members = [...mountState.issuers.values()].filter((member) => classIdOf(member) === id);
  const signing = members.find(
    ({ settings, key_id }) => settings.usage.includes('crl-signing') && mountState.keys.has(key_id),
  );
  const key = signing && mountState.keys.get(signing.key_id);
  return {
    id,
    members,
    former: [...mountState.former].filter(([, known]) => known === id).map(([former]) => former),
    signer: signing && key && { issuer: signing, key },
    takesUnassigned: members.some((member) => member.id === mountState.defaults.default_issuer),
  };
}

/**
 * The class on whose CRL a revocation goes.
 *
 * @param issuer_id of who issued the certificate: it may be gone, or empty
 * @returns undefined where there is nobody to have a CRL
 */
export function findClassOf(mountState: MountState, issuer_id: string): IssuerClass | undefined {
  const { issuers, former, defaults } = mountState;
  const known = former.get(issuer_id);
  const issuer =
    issuers.get(issuer_id) ??
    [...issuers.values()].find((one) => classIdOf(one) === known) ??
    issuers.get(defaults.default_issuer);
  return issuer && planClass(mountState, issuer);
}

/** Warns of a class that has a key and no issuer that may sign its CRL: the last one goes on being served. */
export function warnOfUnsigned(
  { keys }: Pick<MountState, 'keys'>,
  { signer, members }: IssuerClass,
): string[] {
  if (signer || !members.some(({ key_id }) => keys.has(key_id))) return [];
  const ids = members.map(({ id }) => id).join(', ');
  return [
    `Issuer equivalency set with associated keys lacked an issuer with CRL Signing KeyUsage; refusing to rebuild CRL for this group of issuers: ${ids}`,
  ];
}

/** The same for the class of an issuer that is changed or removed, where its CRL could be signed before. */
export function warnOfChange(
  mountState: MountState,
  issuer: Issuer,
  next: Issuer | undefined,
): string[] {
  if (!planClass(mountState, issuer).signer) return [];
  const issuers = new Map(mountState.issuers);
  if (next) issuers.set(issuer.id, next);
  else issuers.delete(issuer.id);
  const changed = { ...mountState, issuers };
  return warnOfUnsigned(changed, planClass(changed, issuer));
}

/** As warnings of the answer to a request that has CRLs built, or would have them built. */
export function numberWarnings(told: readonly string[]): string[] {
  return told.map((one, at) => `Warning ${at + 1} during CRL rebuild: ${one}`);
}

/** Which revocations are on a class's CRL, as JSON; see `builder/job.ts`. */
export function planScope(
  mountState: MountState,
  issuers: IssuerClass,
  context: { epoch: number; disable: boolean; after?: number } & {
    [Part in 'of' | 'shard']?: CrlKind[Part] | undefined;
  },
): string {
  const { shard } = context;
  const scope: CrlScope = {
    members: [...issuers.members.map(({ id }) => id), ...issuers.former].sort(),
    // Whose revocations have lost their issuer depends on which issuers there are.
    known: issuers.takesUnassigned ? listKnown(mountState) : null,
    epoch: context.epoch,
    empty: context.disable,
    ...planAuthorities(mountState, issuers, context),
    ...(context.after !== undefined && { after: context.after }),
    // That of the cluster without a name is as it was before there were several.
    ...(context.of && { of: context.of }),
    ...(shard && { shard }),
  };
  return JSON.stringify(scope);
}

/** Revoked issuers of the mount, as far as they matter to a class's CRL; a delta has none of them. @see P-245 */
function planAuthorities(
  { issuers }: MountState,
  { id }: IssuerClass,
  { after, shard }: { after?: number; shard?: CrlKind['shard'] | undefined },
): Pick<CrlScope, 'authorities' | 'own'> {
  const isComplete = after === undefined;
  const serials = serialsOf(shard ? { shard } : {});
  const authorities = new Map<string, [revoked_at_ms: number, reason?: number]>();
  const own = new Set<string>();
  for (const issuer of issuers.values()) {
    const { revoked_at_ms, revocation_reason: reason, certificate, signed_by } = issuer;
    if (revoked_at_ms === undefined || !isWithin(serials, certificate.serial)) continue;
    const signer = issuers.get(signed_by);
    if (classIdOf(issuer) === id) {
      if (isRoot(certificate)) own.add(certificate.serial);
    } else if (isComplete && signer && classIdOf(signer) === id) {
      // Without a reason the text is as it was before there were any: such CRLs go on.
      authorities.set(certificate.serial, reason === 0 ? [revoked_at_ms] : [revoked_at_ms, reason]);
    }
  }
  // A scope without any is as it was before there were such: its CRLs go on.
  return {
    ...(authorities.size > 0 && {
      authorities: [...authorities]
        .map(([serial, revoked]) => [serial, ...revoked] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    }),
    ...(own.size > 0 && { own: [...own].sort() }),
  };
}

/** Present issuers, and removed ones whose subject and key a present one has. */
function listKnown({ issuers, former }: MountState): string[] {
  const classes = new Set([...issuers.values()].map(classIdOf));
  const represented = [...former].filter(([, id]) => classes.has(id)).map(([id]) => id);
  return [...issuers.keys(), ...represented].sort();
}

/**
 * What a CRL is built from besides revocations, as one short text: when it changes, the CRL
 * is built anew whatever its age.
 */
export function crlFingerprint(
  issuers: IssuerClass,
  { scope, expiry, others }: { scope: string; expiry: string; others: readonly string[] },
): string {
  const algorithm = issuers.signer?.issuer.settings.revocation_signature_algorithm ?? '';
  return hash('sha256', [algorithm, scope, expiry, ...others].join('\n')).slice(0, 32);
}
