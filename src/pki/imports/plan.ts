import { Buffer } from 'node:buffer';
import type { Certificate } from '../../x509/certificate.ts';
import { numberWarnings, planClass, warnOfUnsigned } from '../crl/issuer-class.ts';
import {
  DEFAULT_SETTINGS,
  type Issuer,
  type IssuerSettings,
  mayIssue,
  maySignCrls,
  type Usage,
} from '../mount-state/issuer.ts';
import type { Key } from '../mount-state/key.ts';
import type { MountState } from '../mount-state/state.ts';

/** Bytes as a key of a map. */
export const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');

/** Settings of an issuer that is imported: it signs nothing that its certificate does not let it. @see P-237, P-470 */
export function settingsOf(certificate: Certificate): IssuerSettings {
  const lacking: Usage[] = [];
  if (!maySignCrls(certificate)) lacking.push('crl-signing');
  if (!mayIssue(certificate)) lacking.push('issuing-certificates');
  if (lacking.length === 0) return DEFAULT_SETTINGS;
  return {
    ...DEFAULT_SETTINGS,
    usage: DEFAULT_SETTINGS.usage.filter((word) => !lacking.includes(word)),
  };
}

/** Issuers after an import, those of the bundle and those that it gave a key. */
export interface Imported {
  /** Of the bundle, in its order. */
  issuers: readonly Issuer[];
  /** Of them, those that are new. */
  added: readonly Issuer[];
  /** That were there before, without a key. */
  linked: readonly Issuer[];
}

/**
 * Which issuer becomes the default one: the only one with a key, where there was no default; or the only new one
 * with a key, where the default follows.
 *
 * @returns default_issuer undefined: it stays as it is
 * @see P-235
 */
export function chooseDefault(
  { defaults }: MountState,
  { issuers, added }: Imported,
): { default_issuer: string | undefined; warnings: string[] } {
  const isMissing = defaults.default_issuer === '';
  if (!isMissing && !defaults.default_follows_latest_issuer) {
    return { default_issuer: undefined, warnings: [] };
  }
  const candidates = (isMissing ? issuers : added).filter(
    ({ key_id, revoked_at_ms }) => key_id !== '' && revoked_at_ms === undefined,
  );
  const [only, another] = candidates;
  if (!another) return { default_issuer: only?.id, warnings: [] };
  return {
    default_issuer: undefined,
    warnings: [
      'Default issuer left unchanged: could not select new issuer automatically as multiple imported issuers had key material in Vault.',
    ],
  };
}

/** Warns of a default issuer that is in the bundle and has no key. */
export function warnOfDefault({ issuers }: Imported, default_issuer: string): string[] {
  const issuer = issuers.find(({ id }) => id === default_issuer);
  if (issuer?.key_id !== '') return [];
  return [
    'The default issuer has no key associated with it. Some operations like issuing certificates and signing CRLs will be unavailable with the requested default issuer until a key is imported or the default issuer is changed.',
  ];
}

/** Of so many issuers at most something is told. */
const MOST_TOLD = 20;

/** Warns of issuers that have a key and a certificate that lets it sign no others. @see P-470 */
export function warnOfUsages({ added, linked }: Imported): string[] {
  const silent = [...added, ...linked].filter(
    ({ key_id, certificate }) => key_id !== '' && !mayIssue(certificate),
  );
  const told = silent
    .slice(0, MOST_TOLD)
    .map(
      ({ id }) =>
        `The certificate of issuer ${id} lacks the CertSign KeyUsage value: it issues no certificates.`,
    );
  if (silent.length > MOST_TOLD) told.push(`${silent.length - MOST_TOLD} more issuers alike`);
  return told;
}

/** Warns of issuers that have a key and nobody to sign their CRL. @param after the mount with what is imported */
export function warnOfCrls(after: MountState, { added, linked }: Imported): string[] {
  const silent = [...added, ...linked].filter(
    ({ key_id, settings }) => key_id !== '' && !settings.usage.includes('crl-signing'),
  );
  const told = silent
    .slice(0, MOST_TOLD)
    .flatMap((issuer) => warnOfUnsigned(after, planClass(after, issuer)));
  if (silent.length > MOST_TOLD) told.push(`${silent.length - MOST_TOLD} more issuers alike`);
  return numberWarnings([...new Set(told)]);
}

/** The mount as it is with what is imported; chains are not worked out. */
export function stateAfter(
  mountState: MountState,
  { issuers, linked }: Imported,
  keys: readonly Key[],
): MountState {
  const all = [...issuers, ...linked].map((issuer) => [issuer.id, issuer] as const);
  return {
    ...mountState,
    issuers: new Map([...mountState.issuers, ...all]),
    keys: new Map([...mountState.keys, ...keys.map((key) => [key.id, key] as const)]),
  };
}

/**
 * Issuers whose chain may go on through new certificates: those that these may have signed, and so on downwards. What
 * readers of their chain were given before is not current any more.
 *
 * @see P-236
 */
export function findBeneath(
  { issuers }: MountState,
  added: readonly { certificate: Certificate }[],
): Issuer[] {
  const byIssuer = Map.groupBy(issuers.values(), ({ certificate }) => textOf(certificate.issuer));
  const names = added.map(({ certificate }) => textOf(certificate.subject));
  const reached = new Set<string>();
  const found = new Set<Issuer>();
  for (let name = names.pop(); name !== undefined; name = names.pop()) {
    if (reached.has(name)) continue;
    reached.add(name);
    for (const issuer of byIssuer.get(name) ?? []) {
      found.add(issuer);
      names.push(textOf(issuer.certificate.subject));
    }
  }
  return [...found];
}
