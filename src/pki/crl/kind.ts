import { nameShard, parseShard, type Shard, shardOf } from './shards.ts';

/** Which of the CRLs of a class of issuers is meant. */
export interface CrlKind {
  /** What was revoked since the complete one (RFC 5280 §5.2.4). */
  delta: boolean;
  /** Name of the cluster that revoked what is on it, or {@link ALL}; left out: the one without a name. */
  of?: string;
  /** The part of the certificates that it is for; left out: all of them. A shard has no delta. */
  shard?: Shard;
}

/** Of all clusters: a unified CRL. No cluster has such a name. */
export const ALL = '*';
export const UNIFIED: CrlKind = { delta: false, of: ALL };
export const UNIFIED_DELTA: CrlKind = { delta: true, of: ALL };

export const COMPLETE: CrlKind = { delta: false };
export const DELTA: CrlKind = { delta: true };

/** The CRL that is told of a revocation first: whoever reads another one waits for it to be built. */
export const kindToBuild = ({ crl_shards }: { crl_shards: number }, serial: string): CrlKind =>
  crl_shards > 1 ? { delta: false, shard: shardOf(serial, crl_shards) } : COMPLETE;

/** The complete CRL that a delta adds to; itself of one that is complete. */
export const completeOf = (kind: CrlKind): CrlKind => ({ ...kind, delta: false });

/** How a CRL of a class is told from its others where they are stored. */
export const crlName = (class_id: string, { delta, of = '', shard }: CrlKind): string =>
  [
    class_id,
    ...(of === '' ? [] : [`of=${of}`]),
    ...(shard ? [`shard=${nameShard(shard)}`] : []),
    ...(delta ? ['delta'] : []),
  ].join('/');

/** The class and the kind that a name is of. */
export function parseCrlName(name: string): { class_id: string; kind: CrlKind } {
  const [class_id = '', ...parts] = name.split('/');
  const find = (key: string): string | undefined =>
    parts.find((part) => part.startsWith(key))?.slice(key.length);
  const of = find('of=');
  const shard = parseShard(find('shard=') ?? '');
  const kind = { delta: parts.includes('delta'), ...(of !== undefined && { of }) };
  return { class_id, kind: { ...kind, ...(shard && { shard }) } };
}
