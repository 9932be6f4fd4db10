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
import { type ChainMember, planChains } from './chain.ts';
import { keepFormer } from './former-issuers.ts';
import type { Issuer, IssuerRecord } from './issuer.ts';
import { listIssuerRecords, touchIssuer } from './issuers.store.ts';
import { listKeys } from './keys.store.ts';
import { touchCrls } from './revocations.store.ts';
import { weighMountState } from './room.ts';
import { type Defaults, type MountState, resolveIssuer } from './state.ts';
import { findConfig, readDefaults, saveConfig, saveDefaults } from './store.ts';
import {
  type AuthorityUrls,
  type ClusterPaths,
  clusterRecord,
  expandUrls,
  hasUrls,
  readUrlSettings,
} from './urls.ts';

/** The issuers, keys and URLs of a mount; kept between requests until these change. */
export function readMountState(app: App, mount_id: string): Soon<MountState> {
  return whenThere(
    app.cached('pki/mount-states', keepMountStates),
    (kept) => kept.find(mount_id) ?? kept.get(mount_id, () => renewMountState(app, mount_id)),
  );
}

const keepMountStates = async () => new Kept<MountState>(ROOMS.pki_mount_states, weighMountState);

async function loadMountState(app: App, mount_id: string): Promise<MountState> {
  // The version is read first: what is newer than it only makes a write be refused and retried.
  const defaults = await readDefaults(app.db, mount_id);
  const keys = await listKeys(app.db, mount_id);
  const records = await listIssuerRecords(app.db, mount_id);
  const urls = await findConfig(app.db, mount_id, 'urls');
  const cluster = await readClusterPaths(app, mount_id, app.config.cluster_name);
  const crl = await findConfig(app.db, mount_id, 'crl');
  const former = await findConfig(app.db, mount_id, FORMER_ISSUERS);
  return {
    defaults,
    keys: new Map(keys.map((key) => [key.id, key])),
    issuers: await makeIssuers(app, mount_id, records),
    urls: readUrlSettings(urls),
    cluster,
    crl_shards: parseShards(crl),
    former: new Map(Object.entries(formerSchema.parse(JSON.parse(former ?? '{}')))),
  };
}

/** Where a cluster is reached, one's own or another. */
export async function readClusterPaths(
  app: App,
  mount_id: string,
  cluster_name: string,
): Promise<ClusterPaths> {
  return parseCluster(await findConfig(app.db, mount_id, clusterRecord(cluster_name)));
}

/** Class by the id of an issuer that is gone. */
const formerSchema = z.record(z.string(), z.string());
const FORMER_ISSUERS = 'former-issuers';

/**
 * Notes what issuers that are being removed were; belongs into the write set that removes them.
 *
 * @param present classes of those that stay
 */
export function rememberFormer(
  mount_id: string,
  { former }: MountState,
  removed: Iterable<{ id: string; class: string }>,
  present: ReadonlySet<string>,
): Write[] {
  const kept = keepFormer(former, removed, present);
  return saveConfig(mount_id, FORMER_ISSUERS, JSON.stringify(Object.fromEntries(kept)));
}

function parseCluster(body: string | undefined): ClusterPaths {
  const stored: Partial<ClusterPaths> = JSON.parse(body ?? '{}');
  return { path: stored.path ?? '', aia_path: stored.aia_path ?? '' };
}

/** Of `config/crl`: what every certificate rests on is at hand with the issuers. */
function parseShards(body: string | undefined): number {
  const stored: { crl_shards?: number } = JSON.parse(body ?? '{}');
  return stored.crl_shards ?? 0;
}

/** A mount state with the version of its mount's subject, which was read before it. */
interface Dated {
  version: number;
  mountState: MountState;
}

/**
 * Mount states as they were read last: most changes of configuration are about something else, and of one that
 * was changed most certificates are the same. They mostly are those that are kept, and take no other room then.
 */
const lastMountStates = perApp((app) => {
  const last = new LastOf<Dated>(ROOMS.pki_mount_states, ({ mountState }) =>
    weighMountState(mountState),
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
  return lastMountStates(app).size;
}

/** States of one mount are read one after the other: whoever waited mostly finds what the one before has read. */
const linesOf = perApp(() => new Lines());

async function renewMountState(app: App, mount_id: string): Promise<MountState> {
  const { mountState } = await findLast(app, mount_id);
  return mountState ?? linesOf(app).wait(mount_id, () => readOnce(app, mount_id));
}

async function readOnce(app: App, mount_id: string): Promise<MountState> {
  const { version, mountState } = await findLast(app, mount_id);
  if (mountState) return mountState;
  const last = lastMountStates(app);
  const loaded = await loadMountState(app, mount_id);
  if (version === undefined) last.delete(mount_id);
  else last.set(mount_id, { version, mountState: loaded });
  return loaded;
}

/** As it was read before, unless its mount's configuration was changed since, and the version of that. */
async function findLast(
  app: App,
  mount_id: string,
): Promise<{ [Key in keyof Dated]: Dated[Key] | undefined }> {
  const version = await app.versionOf(`pki/${mount_id}`);
  const before = lastMountStates(app).find(mount_id);
  const isCurrent = before && version !== undefined && before.version >= version;
  return { version, mountState: isCurrent ? before.mountState : undefined };
}

/** All issuers with their chains; of a thousand of them others have their turn meanwhile. */
async function makeIssuers(
  app: App,
  mount_id: string,
  records: readonly IssuerRecord[],
): Promise<Map<string, Issuer>> {
  const breath = new Breath();
  const before = lastMountStates(app).find(mount_id)?.mountState.issuers;
  const members = new Map<string, ChainMember>();
  for (const { id, certificate: der, settings } of records) {
    const known = before?.get(id)?.certificate;
    const isSame = known && Buffer.compare(known.raw, der) === 0;
    const certificate = isSame ? known : parseCertificate(der);
    members.set(id, { id, certificate, manual_chain: settings.manual_chain });
    await breath.take();
  }
  const { chains, signers } = await planChains([...members.values()], () => breath.take());
  const issuers = new Map<string, Issuer>();
  for (const record of records) {
    const certificate = members.get(record.id)?.certificate;
    if (!certificate) continue;
    const chain = (chains.get(record.id) ?? []).flatMap((id) => members.get(id)?.certificate ?? []);
    const signed_by = signers.get(record.id) ?? '';
    issuers.set(record.id, { ...record, certificate, chain, signed_by });
  }
  return issuers;
}

/** The issuer that a reference means now. @throws Failure `unresolved` */
export async function requireIssuer(app: App, caller: Caller, ref: string): Promise<Issuer> {
  return resolveIssuer(await readMountState(app, caller.mount.id), ref);
}

/**
 * The state with every change that was durable before the call, on any node. All callers share the cached one:
 * hundreds who plan a change at once would otherwise hold megabytes each.
 */
async function readCurrent(app: App, mount_id: string): Promise<MountState> {
  const { version } = await readDefaults(app.db, mount_id);
  const mountState = await readMountState(app, mount_id);
  if (mountState.defaults.version >= version) return mountState;
  await app.store.refreshConfig();
  return readMountState(app, mount_id);
}

/** What {@link changeMountState} shall do: nothing of it is done unless all of it is. */
interface MountStateChange<Result> {
  effects: readonly Effect[];
  defaults?: Partial<Omit<Defaults, 'version' | 'issuing_version'>>;
  /**
   * Whether issuance that is under way goes on: its write set is refused only where its own issuer or key, the default
   * issuer or the URLs have changed.
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
  decide: (mountState: MountState) => Promise<MountStateChange<Result>> | MountStateChange<Result>,
): Promise<Result> {
  const mount_id = caller.mount.id;
  const plan = async (): Promise<Planned<Result>> => {
    const mountState = await readCurrent(app, mount_id);
    const { effects, defaults, spares_issuing, result } = await decide(mountState);
    if (effects.length === 0 && defaults === undefined) return { effects, result };
    const before = mountState.defaults;
    const next = { ...before, ...defaults };
    const isSpared = spares_issuing && next.default_issuer === before.default_issuer;
    const issuing_version = before.issuing_version + (isSpared ? 0 : 1);
    const saved = saveDefaults(mount_id, { ...next, issuing_version });
    return { effects: [...saved, ...effects], result };
  };
  return commitPlanned(app, caller, plan, { key: lineOfMount(mount_id), changes: true });
}

/** All changes of a mount's issuers, keys and defaults refuse each other, whatever their paths. */
export const lineOfMount = (mount_id: string): string => `mount ${mount_id}`;

/**
 * The URLs that certificates by an issuer carry: its own if it has any, otherwise the mount's.
 *
 * @param crl_shard what stands for the shard of a certificate, where the template of a URL of CRLs has one
 * @throws Failure `unresolved` when templates cannot be filled in
 */
export function chooseUrls(
  mountState: MountState,
  issuer: Issuer,
  crl_shard?: string,
): AuthorityUrls {
  const { settings } = issuer;
  const own = hasUrls(settings);
  const urls = own ? settings : mountState.urls;
  const templating = own ? settings.enable_aia_url_templating : mountState.urls.enable_templating;
  if (!templating) return urls;
  const { cluster } = mountState;
  return expandUrls(urls, { issuer_id: issuer.id, cluster, ...(crl_shard && { crl_shard }) });
}

/**
 * What else changes with the default issuer: the addresses that always mean the default one show
 * another certificate, so both the old and the new one count as changed.
 */
export function planDefaultChange(
  mount_id: string,
  mountState: MountState,
  next: string,
  now_ms: number,
): Write[] {
  const { default_issuer } = mountState.defaults;
  if (default_issuer === next) return [];
  const touched = [default_issuer, next].filter((id) => mountState.issuers.has(id));
  return [...touched.map((id) => touchIssuer(mount_id, id, now_ms)), touchCrls(mount_id, now_ms)];
}
