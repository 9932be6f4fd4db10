import { hash } from 'node:crypto';
import { startFilling } from '../../access/concurrency/walks.operations.ts';
import { refuseDeniedNow } from '../../access/standing/operations.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { inOnePlace } from '../../app/one-for-all.ts';
import { isOfCluster } from '../../core/clusters.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { type KeyPage, listKeys, listMatching } from '../../core/key-list.ts';
import { type Soon, whenThere } from '../../core/steps.ts';
import { canonicaliseSerial } from '../../x509/serial.ts';
import { readClusterNames } from '../mount-state/cluster-names.operations.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import { readMountState } from '../mount-state/operations.ts';
import { LOOKED_UP, ownPaths } from '../mount-state/own-paths.ts';
import { findIssuer, type MountState } from '../mount-state/state.ts';
import { newestOf, type ReadChain, SeenChains } from './dates.ts';
import { findKeptCertificate } from './kept.operations.ts';
import { chainPem } from './readings.ts';
import { type FoundPage, listCertificates } from './search.store.ts';
import { type CertificateSearch, describeFound, parseCursor } from './search.ts';
import { lookForSerials, type StoredCertificate } from './store.ts';

export async function findDefaultIssuer(app: App, caller: Caller): Promise<Issuer | undefined> {
  const { issuers, defaults } = await readMountState(app, caller.mount.id);
  return issuers.get(defaults.default_issuer);
}

/** @throws Failure `invalid` without a default issuer */
export async function requireDefaultIssuer(app: App, caller: Caller): Promise<Issuer> {
  const issuer = await findDefaultIssuer(app, caller);
  if (!issuer) throw noDefaultIssuer();
  return issuer;
}

export const noDefaultIssuer = (): Failure => invalid('no default issuer currently configured');

const seenChains = perApp(() => new SeenChains());

const seeInOnePlace = inOnePlace('pki/see-chain', async (app, read: ReadChain) =>
  seenChains(app).dateOf(read, app.now()),
);

/** Of what was changed since it is asked again: another chain may have been read in between, on another thread. */
const datesOf = perApp(() => new WeakMap<MountState, Promise<number>>());

/** When a mount's chain became what it is. */
function dateOfChain(
  app: App,
  mount_id: string,
  mountState: MountState,
  pem: string,
): Promise<number> {
  const dates = datesOf(app);
  const known = dates.get(mountState);
  if (known) return known;
  const { version } = mountState.defaults;
  const date = seeInOnePlace(app, { mount_id, version, digest: hash('sha256', pem, 'base64') });
  dates.set(mountState, date);
  date.catch(() => dates.delete(mountState));
  return date;
}

/** The default issuer's chain, in PEM and certificate by certificate, with its date; nothing without a default issuer. */
export async function findDefaultChain(
  app: App,
  caller: Caller,
): Promise<{ pem: string; chain: Issuer['chain']; last_modified: number } | undefined> {
  const mountState = await readMountState(app, caller.mount.id);
  const { issuers, defaults } = mountState;
  const issuer = issuers.get(defaults.default_issuer);
  if (!issuer) return undefined;
  const pem = chainPem(issuer);
  const seen = await dateOfChain(app, caller.mount.id, mountState, pem);
  return { pem, chain: issuer.chain, last_modified: Math.max(seen, newestOf(issuers)) };
}

/** @param serial hexadecimal digits, with or without separators */
function findAnywhere(
  app: App,
  caller: Caller,
  serial: string,
): Soon<StoredCertificate | undefined> {
  const canonical = canonicaliseSerial(serial);
  return canonical === undefined ? undefined : findKeptCertificate(app, caller.mount.id, canonical);
}

/**
 * A certificate that this cluster has.
 *
 * @param serial hexadecimal digits, with or without separators
 * @see P-483
 */
export function findBySerial(
  app: App,
  caller: Caller,
  serial: string,
): Soon<StoredCertificate | undefined> {
  const { cluster_name } = app.config;
  return whenThere(findAnywhere(app, caller, serial), (stored) =>
    stored && isOfCluster(stored.clusters, cluster_name) ? stored : undefined,
  );
}

/** @throws Failure `not_found` without words */
export async function requireCertificate(
  app: App,
  caller: Caller,
  serial: string,
): Promise<StoredCertificate> {
  const stored = await findBySerial(app, caller, serial);
  if (!stored) throw new Failure('not_found', '');
  return stored;
}

/** A page of serial numbers of the certificates that this cluster has, in order of their text. @see P-483 */
export function listOwnSerials(app: App, mount_id: string, page: KeyPage): Promise<string[]> {
  const of = { mount_id, cluster: app.config.cluster_name };
  // Nearly always all are its own: no more is looked at than is asked for, unless that was too little.
  let most = page.limit;
  return listMatching((next) => {
    const limit = Math.min(most, next.limit);
    most = next.limit;
    return lookForSerials(app.db, of, { ...next, limit });
  }, page);
}

/** Serial numbers of all of these, or one page of them. */
export function listCertificateSerials(
  app: App,
  caller: Caller,
  input: { after?: string | undefined; limit?: number | undefined },
) {
  return listKeys((page) => listOwnSerials(app, caller.mount.id, page), input);
}

const MOST_FOUND = 1000;

/** Finds stored certificates, those that end first coming first, a page at a time. */
export async function searchCertificates(app: App, caller: Caller, input: CertificateSearch) {
  const now = Math.floor(app.now() / 1000);
  const limit = Math.min(Math.max(1, input.limit), MOST_FOUND);
  const page =
    input.serial_number === undefined
      ? await findPage(app, caller, input, { now, limit })
      : await findPageOfOne(app, caller, input.serial_number);
  if (page.found.length === 0 && !page.next) throw new Failure('not_found', '');
  return describeFound(page, { now, nameOf: await readClusterNames(app) });
}

async function findPage(
  app: App,
  caller: Caller,
  input: CertificateSearch,
  page: { now: number; limit: number },
): Promise<FoundPage> {
  const { name, role, state, expires_after, expires_before } = input;
  const issuer_id = await issuerIdOf(app, caller, input.issuer_ref);
  const after = parseCursor(input.after);
  const query = { name, issuer_id, role, state, expires_after, expires_before, after, ...page };
  const fillPage = startFilling(app, caller);
  return fillPage((read) => listCertificates(app.db, caller.mount.id, query, read));
}

async function findPageOfOne(app: App, caller: Caller, serial: string): Promise<FoundPage> {
  const one = await findAnywhere(app, caller, serial);
  return { found: one ? [one] : [] };
}

/** The certificates of an issuer that is gone can still be found by its id. */
async function issuerIdOf(
  app: App,
  caller: Caller,
  ref: string | undefined,
): Promise<string | undefined> {
  if (ref === undefined) return undefined;
  const issuer = findIssuer(await readMountState(app, caller.mount.id), ref);
  const known = { ref, id: issuer?.id ?? '', name: issuer?.name };
  await refuseDeniedNow(caller, ownPaths(caller, 'issuer', known, LOOKED_UP));
  return issuer?.id ?? ref;
}
