import { Failure, invalid } from '../../core/failure.ts';
import { type Issuer, mayIssue } from './issuer.ts';
import { hasFormOfId, type Key } from './key.ts';
import type { ClusterPaths, UrlSettings } from './urls.ts';

/** Which issuer and key of a mount are meant by `default`, and the version of its whole set. */
export interface Defaults {
  /** Grows with every change to the mount's keys, issuers or defaults; 0 before the first. */
  version: number;
  /** Ids; empty for none. */
  default_issuer: string;
  default_key: string;
  default_follows_latest_issuer: boolean;
  /** Grows with what certificates rest on besides their issuer and its key: the default issuer and the URLs. */
  issuing_version: number;
}

export const NO_DEFAULTS: Defaults = {
  version: 0,
  default_issuer: '',
  default_key: '',
  default_follows_latest_issuer: false,
  issuing_version: 0,
};

/** All that signing in one mount depends on, as it was at one moment. */
export interface MountState {
  defaults: Defaults;
  /** By id, in order of their ids. */
  issuers: ReadonlyMap<string, Issuer>;
  keys: ReadonlyMap<string, Key>;
  urls: UrlSettings;
  cluster: ClusterPaths;
  /** Of how many shards of its issuer's CRL a certificate names one; fewer than 2: of none. */
  crl_shards: number;
  /**
   * Issuers that were removed, each with what it was to the world (see `crl/issuer-class.ts`): what
   * they revoked stays on the CRL of those that have their subject and key.
   */
  former: ReadonlyMap<string, string>;
}

/** The default first, then ids, then names; all but `default` exactly as spelt. @see P-88 */
function findByRef<Item extends { name: string }>(
  items: ReadonlyMap<string, Item>,
  byDefault: string,
  ref: string,
): Item | undefined {
  if (ref.toLowerCase() === 'default') return items.get(byDefault);
  if (hasFormOfId(ref)) return items.get(ref);
  if (ref === '') return undefined;
  for (const item of items.values()) if (item.name === ref) return item;
  return undefined;
}

/** What a list of issuers or keys is asked for. */
export interface ListedPage {
  /** An id. */
  after?: string | undefined;
  /** At most 0: all. */
  limit?: number | undefined;
}

/** The issuers or keys after an id, in order of their ids. @throws Failure `not_found` when there is none */
export function requirePage<Item extends { id: string }>(
  items: ReadonlyMap<string, Item>,
  { after = '', limit = 0 }: ListedPage,
): Item[] {
  const page = [...items.values()].filter(({ id }) => id > after);
  if (page.length === 0) throw new Failure('not_found', '');
  return limit > 0 ? page.slice(0, limit) : page;
}

export function findIssuer(mountState: MountState, ref: string): Issuer | undefined {
  return findByRef(mountState.issuers, mountState.defaults.default_issuer, ref);
}

export function findKey(mountState: MountState, ref: string): Key | undefined {
  return findByRef(mountState.keys, mountState.defaults.default_key, ref);
}

/**
 * @throws Failure `unresolved`, by whose words clients know that there is no such issuer
 * @see P-8
 */
export function resolveIssuer(mountState: MountState, ref: string): Issuer {
  const issuer = findIssuer(mountState, ref);
  if (issuer) return issuer;
  throw new Failure('unresolved', nothingFor('issuer', ref));
}

const nothingFor = (what: 'issuer' | 'key', ref: string): string =>
  ref.toLowerCase() === 'default'
    ? `no default ${what} currently configured`
    : `unable to find PKI ${what} for reference: ${ref}`;

/**
 * @throws Failure `unresolved`, by whose words clients know that there is no such key
 * @see P-8
 */
export function resolveKey(mountState: MountState, ref: string): Key {
  const key = findKey(mountState, ref);
  if (key) return key;
  throw new Failure('unresolved', nothingFor('key', ref));
}

/**
 * The issuer that shall sign a certificate.
 *
 * @throws Failure `unresolved` when there is none, when it may not issue, or when its key is elsewhere; `invalid` for a
 *   weak key, and for a certificate that lets it sign none
 */
export function resolveSigningIssuer(
  mountState: MountState,
  ref: string,
): { issuer: Issuer; key: Key } {
  const issuer = findIssuer(mountState, ref);
  if (!issuer) {
    throw new Failure(
      'unresolved',
      `could not fetch the CA certificate (was one set?): ${nothingFor('issuer', ref)}`,
    );
  }
  if (!mayIssue(issuer.certificate)) {
    throw invalid(
      `the certificate of issuer [${issuer.id}] lacks the CertSign KeyUsage value: no verifier would accept what it issues`,
    );
  }
  const { usage } = issuer.settings;
  if (!usage.includes('issuing-certificates')) {
    throw new Failure(
      'unresolved',
      `requested usage issuing-certificates for issuer [${issuer.id}] but only had usage ${usage.join(',')}`,
    );
  }
  const key = mountState.keys.get(issuer.key_id);
  if (!key) {
    throw new Failure(
      'unresolved',
      `unable to fetch corresponding key for issuer ${issuer.id}; unable to use this issuer for signing`,
    );
  }
  requireStrongKey(issuer, key);
  return { issuer, key };
}

/** Below which an RSA key could be found out by others, in bits. */
const LEAST_RSA_BITS = 2048;

/**
 * An authority from elsewhere may have such a key: its lists and OCSP answers are signed, and no certificates any more.
 *
 * @throws Failure `invalid`
 * @see P-344
 */
function requireStrongKey({ id }: Issuer, { key_type, key_bits }: Key): void {
  if (key_type !== 'rsa' || key_bits >= LEAST_RSA_BITS) return;
  throw invalid(
    `RSA keys < ${LEAST_RSA_BITS} bits are unsafe and not supported: that of issuer ${id} has ${key_bits}, and signs no certificates`,
  );
}
