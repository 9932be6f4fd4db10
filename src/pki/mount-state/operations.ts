import { z } from 'zod';
import { commitPlanned, type Planned } from '../../access/standing/attempts.operations.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { Mount } from '../../app/mount.ts';
import { Breath } from '../../core/fairness/breath.ts';
import { Lines } from '../../core/fairness/line.ts';
import { onceAtATime } from '../../core/fairness/once-at-a-time.ts';
import { Kept, LastOf } from '../../core/kept.ts';
import { ROOMS } from '../../core/rooms.ts';
import { type Soon, whenThere } from '../../core/steps.ts';
import { readMountsById } from '../../mounts/operations.ts';
import type { Effect, Write } from '../../store/write.ts';
import { parseCertificate } from '../../x509/certificate.ts';
import { planChains } from './chain.ts';
import type { ChainLink, Issuer, IssuerRecord } from './issuer.ts';
import { listIssuerRecords, touchIssuer } from './issuers.store.ts';
import { listKeys } from './keys.store.ts';
import { touchCrls } from './revocations.store.ts';
import { weighAuthority } from './room.ts';
import { type Defaults, type MountState, resolveIssuer } from './state.ts';
import { findConfig, readDefaults, saveConfig, saveDefaults } from './store.ts';
import {
  type AuthorityUrls,
  type ClusterPaths,
  expandUrls,
  hasUrls,
  readUrlSettings,
} from './urls.ts';

/** The issuers, keys and URLs of a mount; kept between requests until these change. */
export function readMountState(app: App, mount_id: string): Soon<MountState> {
  return whenThere(
    app.cached('pki/authorities', keepAuthorities),
    (kept) => kept.find(mount_id) ?? kept.get(mount_id, () => renewAuthority(app, mount_id)),
  );
}

const keepAuthorities = async () => new Kept<MountState>(ROOMS.pki_authorities, weighAuthority);

async function loadMountState(app: App, mount_id: string): Promise<MountState> {
  // The version is read first: what is newer than it only makes a write be refused and retried.
  const defaults = await readDefaults(app.db, mount_id);
  const keys = await listKeys(app.db, mount_id);
  const records = await listIssuerRecords(app.db, mount_id);
  const urls = await findConfig(app.db, mount_id, 'urls');
  const cluster = await findConfig(app.db, mount_id, 'cluster');
  const former = await findConfig(app.db, mount_id, FORMER_ISSUERS);
  return {
    defaults,
    keys: new Map(keys.map((key) => [key.id, key])),
    issuers: await makeIssuers(app, mount_id, records),
    urls: readUrlSettings(urls),
    cluster: parseCluster(cluster),
    former: new Map(Object.entries(formerSchema.parse(JSON.parse(former ?? '{}')))),
  };
}

/** Class by the id of an issuer that is gone. */
const formerSchema = z.record(z.string(), z.string());
const FORMER_ISSUERS = 'former-issuers';
/** Removed issuers that are remembered, the last ones. */
const MOST_FORMER = 1000;

/** Notes what issuers that are being removed were; belongs into the write set that removes them. */
export function rememberFormer(
  mount_id: string,
  { former }: MountState,
  removed: Iterable<{ id: string; class: string }>,
): Write[] {
  const next = new Map(former);
  for (const { id, class: issuerClass } of removed) next.set(id, issuerClass);
  const kept = [...next].slice(-MOST_FORMER);
  return saveConfig(mount_id, FORMER_ISSUERS, JSON.stringify(Object.fromEntries(kept)));
}

function parseCluster(body: string | undefined): ClusterPaths {
  const stored: Partial<ClusterPaths> = JSON.parse(body ?? '{}');
  return { path: stored.path ?? '', aia_path: stored.aia_path ?? '' };
}

/** An authority with the version of its mount's subject, which was read before it. */
interface Dated {
  version: number;
  authority: MountState;
}

/**
 * Authorities as they were read last: most changes of configuration are about something else, and of one that
 * was changed most certificates are the same. They mostly are those that are kept, and take no other room then.
 */
const lastAuthorities = perApp((app) => {
  const last = new LastOf<Dated>(ROOMS.pki_authorities, ({ authority }) =>
    weighAuthority(authority),
  );
  app.store.onConfigChange(onceAtATime(forgetRemoved(app, last)));
  app.barrier.onSeal(() => last.clear());
  return last;
});

/** Forgets those of mounts that are gone, whenever mounts were changed. */
function forgetRemoved(app: App, last: LastOf<Dated>): () => Promise<void> {
  let seen: ReadonlyMap<string, Mount> | undefined;
  return async () => {
    if (last.size === 0) return;
    try {
      const mounts = await readMountsById(app);
      if (mounts === seen) return;
      const breath = new Breath();
      for (const id of [...last.keys()]) {
        if (!mounts.has(id)) last.delete(id);
        await breath.take();
      }
      seen = mounts;
    } catch {
      // What cannot be read now is looked at after the next change.
    }
  };
}

/** Mounts of which certificates are kept. */
export function countMountsRead(app: App): number {
  return lastAuthorities(app).size;
}

/** Those of one mount that are read anew one after the other: whoever waited mostly finds what the one before has read. */
const linesOf = perApp(() => new Lines());

async function renewAuthority(app: App, mount_id: string): Promise<MountState> {
  const { authority } = await findLast(app, mount_id);
  return authority ?? linesOf(app).wait(mount_id, () => readOnce(app, mount_id));
}

async function readOnce(app: App, mount_id: string): Promise<MountState> {
  const { version, authority } = await findLast(app, mount_id);
  if (authority) return authority;
  const last = lastAuthorities(app);
  const loaded = await loadMountState(app, mount_id);
  if (version === undefined) last.delete(mount_id);
  else last.set(mount_id, { version, authority: loaded });
  return loaded;
}

/** As it was read before, unless its mount's configuration was changed since, and the version of that. */
async function findLast(
  app: App,
  mount_id: string,
): Promise<{ [Key in keyof Dated]: Dated[Key] | undefined }> {
  const version = await app.versionOf(`pki/${mount_id}`);
  const before = lastAuthorities(app).find(mount_id);
  const isCurrent = before && version !== undefined && before.version >= version;
  return { version, authority: isCurrent ? before.authority : undefined };
}

function readLink(before: Issuer | undefined, { id, certificate }: IssuerRecord): ChainLink {
  const same = before && Buffer.compare(before.certificate.raw, certificate) === 0;
  return { issuer_id: id, certificate: same ? before.certificate : parseCertificate(certificate) };
}

/** All issuers with their chains; of a thousand of them others have their turn meanwhile. */
async function makeIssuers(
  app: App,
  mount_id: string,
  records: readonly IssuerRecord[],
): Promise<Map<string, Issuer>> {
  const breath = new Breath();
  const before = lastAuthorities(app).find(mount_id)?.authority.issuers;
  const links = new Map<string, ChainLink>();
  for (const record of records) {
    links.set(record.id, readLink(before?.get(record.id), record));
    await breath.take();
  }
  const members = records.flatMap(({ id, settings }) => {
    const certificate = links.get(id)?.certificate;
    return certificate ? [{ id, certificate, manual_chain: settings.manual_chain }] : [];
  });
  const chains = await planChains(members, () => breath.take());
  const issuers = new Map<string, Issuer>();
  for (const record of records) {
    const link = links.get(record.id);
    if (!link) continue;
    const chain = (chains.get(record.id) ?? []).flatMap((id) => links.get(id) ?? []);
    issuers.set(record.id, { ...record, certificate: link.certificate, chain });
  }
  return issuers;
}

/** The issuer that a reference means now. @throws Failure `unresolved` */
export async function requireIssuer(app: App, caller: Caller, ref: string): Promise<Issuer> {
  return resolveIssuer(await readMountState(app, caller.mount.id), ref);
}

/**
 * With all that was changed before this was called, on any node: hundreds who plan a change at once have what is
 * kept in common, as each would have megabytes otherwise.
 */
async function readCurrent(app: App, mount_id: string): Promise<MountState> {
  const { version } = await readDefaults(app.db, mount_id);
  const authority = await readMountState(app, mount_id);
  if (authority.defaults.version >= version) return authority;
  await app.store.refreshConfig();
  return readMountState(app, mount_id);
}

/** What {@link changeMountState} shall do: nothing of it is done unless all of it is. */
interface AuthorityChange<Result> {
  effects: readonly Effect[];
  defaults?: Partial<Omit<Defaults, 'version' | 'issuing_version'>>;
  /**
   * Whether certificates that are being made may stand: they have their issuer and its key held, and are refused by
   * another default issuer.
   */
  spares_issuing?: boolean;
  result: Result;
}

/**
 * Changes the keys, issuers or defaults of a mount. Two changes at once never build on the same
 * state: the later one decides again on what the earlier one left.
 *
 * @param decide may be called more than once; no effects and no defaults: nothing to be changed
 * @throws Failure `conflict` after some attempts
 */
export async function changeMountState<Result>(
  app: App,
  caller: Caller,
  decide: (authority: MountState) => Promise<AuthorityChange<Result>> | AuthorityChange<Result>,
): Promise<Result> {
  const mount_id = caller.mount.id;
  const plan = async (): Promise<Planned<Result>> => {
    const authority = await readCurrent(app, mount_id);
    const { effects, defaults, spares_issuing, result } = await decide(authority);
    if (effects.length === 0 && defaults === undefined) return { effects, result };
    const before = authority.defaults;
    const next = { ...before, ...defaults };
    const isSpared = spares_issuing && next.default_issuer === before.default_issuer;
    const issuing_version = before.issuing_version + (isSpared ? 0 : 1);
    const saved = saveDefaults(mount_id, { ...next, issuing_version });
    return { effects: [...saved, ...effects], result };
  };
  return commitPlanned(app, caller, plan, { thing: lineOfAuthority(mount_id), changes: true });
}

/** All changes of a mount's issuers, keys and defaults refuse each other, whatever their paths. */
export const lineOfAuthority = (mount_id: string): string => `authority ${mount_id}`;

/**
 * The URLs that certificates by an issuer carry: its own if it has any, otherwise the mount's.
 *
 * @throws Failure `unresolved` when templates cannot be filled in
 */
export function chooseUrls(authority: MountState, issuer: Issuer): AuthorityUrls {
  const { settings } = issuer;
  const own = hasUrls(settings);
  const urls = own ? settings : authority.urls;
  const templating = own ? settings.enable_aia_url_templating : authority.urls.enable_templating;
  if (!templating) return urls;
  return expandUrls(urls, { issuer_id: issuer.id, cluster: authority.cluster });
}

/**
 * What else changes with the default issuer: the addresses that always mean the default one show
 * another certificate, so both the old and the new one count as changed.
 */
export function planDefaultChange(
  mount_id: string,
  authority: MountState,
  next: string,
  now_ms: number,
): Write[] {
  const { default_issuer } = authority.defaults;
  if (default_issuer === next) return [];
  const touched = [default_issuer, next].filter((id) => authority.issuers.has(id));
  return [...touched.map((id) => touchIssuer(mount_id, id, now_ms)), touchCrls(mount_id, now_ms)];
}
