import { memoizeWeak } from '../../core/memoize-weak.ts';
import { certIdHashes, type OcspHash, type OcspRequest } from '../../x509/ocsp.ts';
import { formatSerial } from '../../x509/serial.ts';
import { classIdOf } from '../crl/issuer-class.ts';
import { isRoot } from '../mount-state/chain.ts';
import type { Revocation } from '../mount-state/revocations.store.ts';
import { findIssuer, type MountState } from '../mount-state/state.ts';
import { chooseResponder, type Responder } from './responder.ts';
import type { Chosen } from './signing.operations.ts';

/** @see P-128, P-129 */
export function chooseIssuer(asked: {
  mountState: MountState;
  revocation: Revocation | undefined;
  request: OcspRequest;
}): Chosen | undefined {
  const { mountState } = asked;
  const { certId } = asked.request;
  const hashes = issuerHashes(mountState, certId.hashAlgorithm);
  const isAskedAbout = (issuer_id: string): boolean => {
    const known = hashes.get(issuer_id);
    return (
      known !== undefined &&
      Buffer.compare(known.issuerNameHash, certId.issuerNameHash) === 0 &&
      Buffer.compare(known.issuerKeyHash, certId.issuerKeyHash) === 0
    );
  };
  const known = authoritiesOf(mountState).get(formatSerial(certId.serialNumber)) ?? [];
  const authority = known.find(({ signers }) => signers.some(isAskedAbout));
  const revoker = asked.revocation && representativeOf(mountState, asked.revocation.issuer_id);
  // What another issuer revoked is not this one's: but for authorities that are certified by both, a serial number is
  // unique in its mount.
  const isOthers = revoker !== undefined && !isAskedAbout(revoker);
  const revocation = isOthers ? authority?.revoked : (asked.revocation ?? authority?.revoked);
  const isUnknown = isOthers && authority === undefined;
  const candidates = [...mountState.issuers.values()].flatMap((issuer): Responder[] => {
    const key = mountState.keys.get(issuer.key_id);
    return key ? [{ issuer, key, matches: !isUnknown && isAskedAbout(issuer.id) }] : [];
  });
  const responder = chooseResponder(candidates, findIssuer(mountState, 'default')?.id);
  if (!responder) return undefined;
  const { issuer, key } = responder;
  if (!responder.matches) return { issuer, key, status: { status: 'unknown' } };
  if (!revocation) return { issuer, key, status: { status: 'good' } };
  return {
    issuer,
    key,
    status: {
      status: 'revoked',
      revocationTime: Math.floor(revocation.revoked_at_ms / 1000),
      reason: revocation.reason,
    },
  };
}

/** The certificate of an issuer: who of the mount signed it, and whether it is revoked. */
interface Authority {
  /** Ids. */
  signers: readonly string[];
  revoked: Pick<Revocation, 'revoked_at_ms' | 'reason'> | undefined;
}

/**
 * Issuers that one of the mount signed, itself included, by serial number: their certificates may be stored nowhere else.
 * Of different authorities some may have the same, as one has that another has signed as it signed itself.
 *
 * @see P-337
 */
const authoritiesOf = memoizeWeak(({ issuers }: MountState): Map<string, Authority[]> => {
  const known = [...issuers.values()].flatMap(
    ({ id, certificate, signed_by, revoked_at_ms, revocation_reason: reason }) => {
      // A revoked root is on no list of its own.
      const isOwn = isRoot(certificate);
      if (!isOwn && signed_by === '') return [];
      const isListed = revoked_at_ms !== undefined && !isOwn;
      const revoked = isListed ? { revoked_at_ms, reason } : undefined;
      return [{ serial: certificate.serial, signers: [isOwn ? id : signed_by], revoked }];
    },
  );
  return Map.groupBy(known, ({ serial }) => serial);
});

/** The issuer, or one that is the same to the world where it is gone; undefined when there is none. */
function representativeOf({ issuers, former }: MountState, id: string): string | undefined {
  if (issuers.has(id)) return id;
  const known = former.get(id);
  if (known === undefined) return undefined;
  return [...issuers.values()].find((issuer) => classIdOf(issuer) === known)?.id;
}

type IssuerHashes = Map<string, ReturnType<typeof certIdHashes>>;

/** Gone with what they were made of. */
const hashesOf = memoizeWeak((_mountState: MountState) => new Map<OcspHash, IssuerHashes>());

function issuerHashes(mountState: MountState, algorithm: OcspHash): IssuerHashes {
  return hashesOf(mountState).getOrInsertComputed(algorithm, () => {
    const hashed = [...mountState.issuers.values()].map(({ id, certificate }) => {
      const { subject, subjectPublicKeyInfo } = certificate;
      return [id, certIdHashes(subject, subjectPublicKeyInfo, algorithm)] as const;
    });
    return new Map(hashed);
  });
}
