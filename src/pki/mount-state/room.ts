import { type Failure, invalid } from '../../core/failure.ts';
import { textBytes } from '../../core/kept.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import type { Issuer, IssuerRecord, IssuerSettings } from './issuer.ts';
import type { MountState } from './state.ts';
import { URL_FIELDS } from './urls.ts';

// All issuers and keys of a mount are read at once and kept in memory while they are used, whoever
// asks for one of them. So there are only so many, of only so many bytes; what was stored before there
// were bounds stays, and may become less.

export const MOST_ISSUERS = 1000;
export const MOST_KEYS = 1000;
/** Of the certificates, URLs and chains of all issuers of a mount; their other settings are short. */
export const MOST_BYTES = 2 << 20;

type Weighed = Pick<IssuerRecord, 'certificate' | 'settings'>;

/** @throws Failure `invalid` when a mount cannot take one more issuer */
export function requireRoomForIssuer(mountState: MountState, issuer: Weighed): void {
  const { size } = mountState.issuers;
  if (size >= MOST_ISSUERS) throw refuse(`the mount has ${size} issuers`, MOST_ISSUERS);
  requireBytes(mountState, issuer.certificate.length + listsLength(issuer.settings));
}

/** @throws Failure `invalid` when a mount cannot take all of these */
export function requireRoomForImport(
  mountState: MountState,
  more: { issuers: readonly Weighed[]; keys: number },
): void {
  const issuers = mountState.issuers.size + more.issuers.length;
  const keys = mountState.keys.size + more.keys;
  if (more.issuers.length > 0 && issuers > MOST_ISSUERS) {
    throw refuse(`the mount would have ${issuers} issuers`, MOST_ISSUERS);
  }
  if (more.keys > 0 && keys > MOST_KEYS)
    throw refuse(`the mount would have ${keys} keys`, MOST_KEYS);
  let bytes = 0;
  for (const { certificate, settings } of more.issuers) {
    bytes += certificate.length + listsLength(settings);
  }
  requireBytes(mountState, bytes);
}

/** @throws Failure `invalid` when an issuer's URLs and chain cannot grow to these */
export function requireRoomForSettings(
  mountState: MountState,
  issuer: Issuer,
  next: IssuerSettings,
): void {
  requireBytes(mountState, listsLength(next) - listsLength(issuer.settings));
}

/** @throws Failure `invalid` when a mount cannot take one more key */
export function requireRoomForKey({ keys }: MountState): void {
  if (keys.size >= MOST_KEYS) throw refuse(`the mount has ${keys.size} keys`, MOST_KEYS);
}

function requireBytes(mountState: MountState, more: number): void {
  if (more <= 0) return;
  const bytes = countBytes(mountState) + more;
  if (bytes <= MOST_BYTES) return;
  throw refuse(
    `the certificates, URLs and chains of the mount's issuers would have ${bytes} bytes`,
    MOST_BYTES,
  );
}

function refuse(what: string, most: number): Failure {
  return invalid(
    `${what}, and may have at most ${most}: remove what is not needed, or use another mount`,
  );
}

function countBytes({ issuers }: MountState): number {
  let bytes = 0;
  for (const { certificate, settings } of issuers.values()) {
    bytes += certificate.raw.length + listsLength(settings);
  }
  return bytes;
}

/** Of what can be long. */
const listsLength = memoizeWeak((settings: IssuerSettings): number => {
  const lists = [...URL_FIELDS.map((field) => settings[field]), settings.manual_chain ?? []];
  return lists.reduce(
    (length, list) => length + (list.length === 0 ? 0 : JSON.stringify(list).length),
    0,
  );
});

/** What an issuer takes besides the bytes of its certificate. */
const ISSUER_BYTES = 6 << 10;
const KEY_BYTES = 2 << 10;
const FORMER_BYTES = 256;
/** A certificate as DER, as PEM, and as what was read of it. */
const CERTIFICATE_FACTOR = 3;

/** About how many bytes of memory certificates take that were read. */
function weighCertificates(lengths: Iterable<number>): number {
  let bytes = 0;
  for (const length of lengths) bytes += ISSUER_BYTES + CERTIFICATE_FACTOR * length;
  return bytes;
}

/** About how many bytes of memory the issuers and keys of a mount take. */
export function weighMountState({ issuers, keys, urls, former }: MountState): number {
  const certificates = [...issuers.values()].map(({ certificate }) => certificate.raw.length);
  let bytes = weighCertificates(certificates) + keys.size * KEY_BYTES + former.size * FORMER_BYTES;
  for (const { settings } of issuers.values()) bytes += 2 * listsLength(settings);
  return bytes + textBytes(JSON.stringify(urls));
}
