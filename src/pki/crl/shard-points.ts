import { z } from 'zod';
import { invalid } from '../../core/failure.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import type { MountState } from '../mount-state/state.ts';
import { hasUrls, namesShard, SHARD } from '../mount-state/urls.ts';
import type { Shard } from './shards.ts';

/**
 * An address that certificates of an issuer have for their shards. It is noted before the first of them is handed out, and
 * shards name it (RFC 5280 §5.2.5) until the last one has ended, whatever is configured meanwhile.
 */
const pointSchema = z.object({
  /** Name of the cluster that issued them; empty for the one without a name. */
  cluster: z.string(),
  /** Of shards. */
  count: z.int(),
  /** With {@link SHARD} in it. */
  url: z.string(),
  /** No certificate ends later; Unix seconds. */
  latest: z.int(),
});
export type ShardPoint = z.output<typeof pointSchema>;

/** What is noted of a class of issuers. */
export const pointsRecord = (class_id: string): string => `crl-shards/${class_id}`;

export const parsePoints = (body: string | undefined): ShardPoint[] =>
  z.array(pointSchema).parse(JSON.parse(body ?? '[]'));

/** What the points of a certificate are told from others by. */
export type PointKey = Omit<ShardPoint, 'latest'>;
export const pointKey = ({ cluster, count, url }: PointKey): string =>
  `${cluster}\n${count}\n${url}`;

/** Addresses of a class that certificates have at a time: each of its CRLs names all those of its shard. */
const MOST = 100;
const DAY_S = 86_400;
/** So long points are kept once all their certificates have ended: a clock may be set back. */
const KEPT_S = 30 * DAY_S;

/**
 * Notes the addresses of a certificate. They are noted for certificates that end somewhat later, too, so that this is
 * seldom done.
 *
 * @param certificate its end and the present, in Unix seconds
 * @throws Failure `invalid` where there are too many
 */
export function planPoints(
  known: readonly ShardPoint[],
  wanted: readonly PointKey[],
  { not_after, now }: { not_after: number; now: number },
): ShardPoint[] {
  const points = new Map<string, ShardPoint>();
  for (const point of known) {
    if (point.latest + KEPT_S >= now) points.set(pointKey(point), point);
  }
  const latest = not_after + Math.max(DAY_S, Math.ceil((not_after - now) / 4));
  for (const point of wanted) {
    const key = pointKey(point);
    const before = points.get(key)?.latest ?? 0;
    if (before < not_after) points.set(key, { ...point, latest });
  }
  const live = [...points.values()].filter((point) => point.latest >= now);
  if (live.length <= MOST) return [...points.values()];
  throw invalid(
    `certificates of the issuer name ${MOST} different addresses of shards already: crl_distribution_points or crl_shards were changed too often, and crl_shards has to be off until some have ended`,
  );
}

/**
 * The URLs of a shard: certificates have one of these and no others.
 *
 * @param cluster whose certificates alone; undefined: of all
 * @param now Unix seconds
 */
export function listShardUrls(
  points: readonly ShardPoint[],
  { shard, name, cluster, now }: { shard: Shard; name: string; cluster?: string; now: number },
): string[] {
  const urls = points
    .filter((point) => point.count === shard.count && point.latest >= now)
    .filter((point) => cluster === undefined || point.cluster === cluster)
    .map(({ url }) => url.replaceAll(SHARD, name));
  return [...new Set(urls)].sort();
}

/**
 * Refuses shards that no certificate would name.
 *
 * @throws Failure `invalid`
 * @see P-308
 */
export function requireShardAddresses({
  urls,
  issuers,
}: Pick<MountState, 'urls' | 'issuers'>): void {
  const { crl_distribution_points: points, enable_templating } = urls;
  const isOwn = ({ settings }: Issuer): boolean =>
    hasUrls(settings) && settings.crl_distribution_points.some(namesShard);
  const isNamed =
    points.length === 0
      ? [...issuers.values()].some(isOwn)
      : enable_templating && points.every(namesShard);
  if (isNamed) return;
  throw invalid(
    'crl_shards needs {{crl_shard}} in every URL of crl_distribution_points in config/urls, with enable_templating: by it a certificate says which CRL it is on',
  );
}
