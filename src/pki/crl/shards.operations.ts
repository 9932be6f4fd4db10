import type { App } from '../../app/app.ts';
import type { Effect } from '../../store/write.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import { chooseUrls } from '../mount-state/operations.ts';
import type { MountState } from '../mount-state/state.ts';
import { findConfig, saveConfigAsRead } from '../mount-state/store.ts';
import { type AuthorityUrls, namesShard, SHARD } from '../mount-state/urls.ts';
import { classIdOf } from './issuer-class.ts';
import { ALL, type CrlKind } from './kind.ts';
import {
  listShardUrls,
  type PointKey,
  parsePoints,
  planPoints,
  pointKey,
  pointsRecord,
  type ShardPoint,
} from './shard-points.ts';
import { nameShard, shardOf } from './shards.ts';

/** How the certificates of an issuer are told which shard they are on. */
export interface Sharding {
  /** Of the issuer. */
  class_id: string;
  /** Of shards. */
  count: number;
  /** With {@link SHARD} in them. */
  urls: AuthorityUrls;
}

/** @returns undefined where the certificates of the issuer are on its complete CRL alone */
export function findSharding(mountState: MountState, issuer: Issuer): Sharding | undefined {
  const { crl_shards: count } = mountState;
  if (count < 2) return undefined;
  const urls = chooseUrls(mountState, issuer, SHARD);
  if (!urls.crl_distribution_points.some(namesShard)) return undefined;
  return { class_id: classIdOf(issuer), count, urls };
}

/**
 * The URLs of one certificate, and what has to be in the write set that hands it out.
 *
 * @see P-309
 */
export async function placeInShard(
  app: App,
  mount_id: string,
  { class_id, count, urls }: Sharding,
  { serial, not_after }: { serial: string; not_after: number },
): Promise<{ urls: AuthorityUrls; effects: Effect[] }> {
  const name = nameShard(shardOf(serial, count));
  const { crl_distribution_points: points } = urls;
  const { cluster_name: cluster } = app.config;
  const wanted = points.filter(namesShard).map((url) => ({ cluster, count, url }));
  return {
    urls: {
      ...urls,
      crl_distribution_points: points.map((url) => url.replaceAll(SHARD, name)),
      // A delta adds to the complete CRL, and that is another one than the shard.
      ...(wanted.length === points.length && { delta_crl_distribution_points: [] }),
    },
    effects: await notePoints(app, { mount_id, class_id }, wanted, not_after),
  };
}

type ClassOf = { mount_id: string; class_id: string };

async function notePoints(
  app: App,
  { mount_id, class_id }: ClassOf,
  wanted: readonly PointKey[],
  not_after: number,
): Promise<Effect[]> {
  const { latest } = await readPoints(app, { mount_id, class_id });
  if (wanted.every((point) => (latest.get(pointKey(point)) ?? 0) >= not_after)) return [];
  const name = pointsRecord(class_id);
  const read = await findConfig(app.db, mount_id, name);
  const now = Math.floor(app.now() / 1000);
  const body = JSON.stringify(planPoints(parsePoints(read), wanted, { not_after, now }));
  // Somebody else may have been quicker, and this node not know it yet.
  return body === read ? [] : saveConfigAsRead({ mount_id, name }, { read, body });
}

function readPoints(app: App, { mount_id, class_id }: ClassOf) {
  return app.cached(`pki/crl-shards/${mount_id}/${class_id}`, async () => {
    const points = parsePoints(await findConfig(app.db, mount_id, pointsRecord(class_id)));
    const latest = new Map(points.map((point: ShardPoint) => [pointKey(point), point.latest]));
    return { points, latest };
  });
}

/** The URLs that the certificates of a shard have for it; none: there is no such certificate any more, or not yet. */
export async function readShardUrls(
  app: App,
  { mount_id, class_id }: ClassOf,
  { shard, of = '' }: CrlKind,
): Promise<string[]> {
  if (!shard) return [];
  const { points } = await readPoints(app, { mount_id, class_id });
  const now = Math.floor(app.now() / 1000);
  const which = { shard, name: nameShard(shard), now };
  return listShardUrls(points, of === ALL ? which : { ...which, cluster: of });
}
