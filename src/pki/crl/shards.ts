/** Shards: CRLs for a part of an issuer's certificates each, by their serial numbers. */

/** One of several CRLs; which certificates are on it is told by this alone, for good. */
export interface Shard {
  /** From 0. */
  number: number;
  /** Of how many. */
  count: number;
}

/** Most shards; fewer than 2 are none. */
export const MOST_SHARDS = 1024;

/** What our serial numbers begin with: 0x01 to 0x7f, and any second byte; see `newSerialNumber`. */
const FIRST = 0x0100;
const BEGINNINGS = 0x7f00;

/** As addresses have it, e.g. `3-of-64`. */
export const nameShard = ({ number, count }: Shard): string => `${number}-of-${count}`;

/** @returns undefined for what {@link nameShard} does not write */
export function parseShard(name: string): Shard | undefined {
  const [, number, count] = /^(0|[1-9]\d{0,3})-of-([1-9]\d{0,3})$/.exec(name) ?? [];
  const shard = { number: Number(number), count: Number(count) };
  const isOne = shard.count >= 2 && shard.count <= MOST_SHARDS && shard.number < shard.count;
  return isOne ? shard : undefined;
}

/** Serial numbers as text: the first is not in it any more, the last is. */
export interface SerialRange {
  after: string;
  up_to: string;
}

/** After every serial number. */
const END = 'g';
export const ALL_SERIALS: SerialRange = { after: '', up_to: END };

/** The serial numbers of a shard: they lie together, so that no others are read for its CRL. */
export function rangeOf({ number, count }: Shard): SerialRange {
  const up_to = number + 1 === count ? END : boundAt(number + 1, count);
  return { after: boundAt(number, count), up_to };
}

function boundAt(number: number, count: number): string {
  if (number === 0) return '';
  const digits = (FIRST + Math.ceil((number * BEGINNINGS) / count)).toString(16).padStart(4, '0');
  return `${digits.slice(0, 2)}:${digits.slice(2)}`;
}

export const isWithin = ({ after, up_to }: SerialRange, serial: string): boolean =>
  serial > after && serial <= up_to;

/**
 * The shard that a certificate is in.
 *
 * @param serial lower-case colon hex
 * @param count of shards
 */
export function shardOf(serial: string, count: number): Shard {
  const beginning = Number.parseInt(serial.slice(0, 2) + (serial.slice(3, 5) || '00'), 16);
  const place = Math.floor(((beginning - FIRST) * count) / BEGINNINGS);
  const shard = { number: Math.min(Math.max(place, 0), count - 1), count };
  // What consists of a bound alone is before all that begin with it.
  const isBefore = shard.number > 0 && serial <= rangeOf(shard).after;
  return isBefore ? { number: shard.number - 1, count } : shard;
}
