import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { type Failure, invalid } from '../../core/failure.ts';
import { Breath } from '../../core/fairness/breath.ts';
import { parsePem } from '../../core/pem.ts';
import { type Certificate, isSignedBy, parseCertificate } from '../../x509/certificate.ts';
import { canonicaliseSerial } from '../../x509/serial.ts';
import { findCertificate, type StoredCertificate } from '../certificates/store.ts';
import { classIdOf } from '../crl/issuer-class.ts';
import { type Issuer, tbsHashOf } from '../mount-state/issuer.ts';
import { readMountState } from '../mount-state/operations.ts';
import type { MountState } from '../mount-state/state.ts';

/** Which certificate is meant: exactly one of the two. */
export interface RevokeInput {
  serial_number?: string | undefined;
  /** PEM. */
  certificate?: string | undefined;
}

/** A certificate that is to be revoked. */
export interface RevocationTarget {
  /** Lower-case colon hex. */
  serial: string;
  /** Unix seconds. */
  not_after: number;
  der: Uint8Array;
  /** Empty when no issuer of the mount signed it. */
  issuer_id: string;
  /** As it was read, of one that was presented. */
  certificate?: Certificate;
  /** Undefined: the store does not have it. Otherwise what the store says of its revocation. */
  stored: Pick<StoredCertificate, 'revoked_at_ms' | 'clusters'> | undefined;
}

/** @see P-112 */
export function requireOneOf({ serial_number, certificate }: RevokeInput): void {
  if (serial_number === undefined && certificate === undefined) {
    throw invalid('The serial number or certificate to revoke must be provided.');
  }
  if (serial_number !== undefined && certificate !== undefined) {
    throw invalid('Must provide either the certificate or the serial to revoke; not both.');
  }
}

/** @param input with exactly one of the two: {@link requireOneOf} */
export async function requireTarget(
  app: App,
  caller: Caller,
  input: RevokeInput,
): Promise<RevocationTarget> {
  const mountState = await readMountState(app, caller.mount.id);
  return input.certificate === undefined
    ? findBySerial(app, caller, mountState, input.serial_number ?? '')
    : findPresented(app, caller, mountState, input.certificate);
}

async function findBySerial(
  app: App,
  caller: Caller,
  mountState: MountState,
  text: string,
): Promise<RevocationTarget> {
  if (text === '') throw invalid('The serial number must be provided');
  const serial = serialOf(text);
  refuseIssuers(mountState, serial);
  const stored = await findCertificate(app.db, caller.mount.id, serial);
  if (!stored) throw notFound(text);
  return targetOf(stored);
}

export const notFound = (text: string): Failure =>
  invalid(`certificate with serial ${text} not found.`);

function serialOf(text: string): string {
  const serial = canonicaliseSerial(text);
  if (serial === undefined) {
    throw invalid(
      `serial_number "${text.slice(0, 64)}" is no serial number: hex digits, in pairs set apart by colons or hyphens`,
    );
  }
  return serial;
}

/**
 * A CA's own certificate never goes on the CRL that it signs itself.
 *
 * @param presented undefined: the serial number is all that is known
 * @see P-113, P-337
 */
function refuseIssuers(mountState: MountState, serial: string, presented?: Certificate): void {
  for (const issuer of mountState.issuers.values()) {
    const { certificate } = issuer;
    if (presented && tbsHashOf(presented) !== tbsHashOf(certificate)) continue;
    if (certificate.serial === serial) {
      throw invalid(`adding issuer (id: ${issuer.id}) to its own CRL is not allowed`);
    }
  }
}

/** @see P-115 */
async function findPresented(
  app: App,
  caller: Caller,
  mountState: MountState,
  pem: string,
): Promise<RevocationTarget> {
  if (pem.length < 75) {
    throw invalid(
      'provided certificate is too short; perhaps a path was passed to the API rather than the contents of a PEM file?',
    );
  }
  const block = parsePem(pem).find(({ label }) => label === 'CERTIFICATE');
  if (!block) throw invalid('certificate contains no PEM data');
  let certificate: Certificate;
  try {
    certificate = parseCertificate(block.der);
  } catch (cause) {
    throw invalid('certificate could not be parsed', { cause });
  }
  refuseIssuers(mountState, certificate.serial, certificate);
  const stored = await findCertificate(app.db, caller.mount.id, certificate.serial);
  if (stored) {
    if (Buffer.compare(stored.der, certificate.raw) !== 0) {
      throw invalid(
        'certificate has the same serial but unequal value to one that is stored; that of an authority can be imported, and revoked as an issuer',
      );
    }
    return { ...targetOf(stored), certificate };
  }
  const issuer = await findSigner(mountState, certificate);
  if (!issuer) {
    throw invalid(
      'unable to verify signature on presented cert from any present issuer in this mount',
    );
  }
  const { serial, notAfter, raw } = certificate;
  const found = { serial, not_after: notAfter, der: raw, issuer_id: issuer.id };
  return { ...found, certificate, stored: undefined };
}

/** Of a thousand issuers that bear the name: each of their keys is tried once, and others have their turn. */
export async function findSigner(
  { issuers }: MountState,
  certificate: Certificate,
): Promise<Issuer | undefined> {
  const breath = new Breath();
  const tried = new Set<string>();
  for (const issuer of issuers.values()) {
    const { subject, subjectPublicKeyInfo } = issuer.certificate;
    if (Buffer.compare(subject, certificate.issuer) !== 0) continue;
    const known = classIdOf(issuer);
    if (tried.has(known)) continue;
    tried.add(known);
    if (isSignedBy(certificate, subjectPublicKeyInfo)) return issuer;
    await breath.take();
  }
  return undefined;
}

export function targetOf(stored: StoredCertificate): RevocationTarget {
  const { serial, not_after, der, issuer_id } = stored;
  return { serial, not_after, der, issuer_id, stored };
}
