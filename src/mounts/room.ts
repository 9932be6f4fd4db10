import type { Mount, MountKind } from '../app/mount.ts';
import { type Failure, invalid } from '../core/failure.ts';
import { LISTS } from './rules.ts';

// All mounts are kept in memory, read again when one was changed, and listed in one answer, which a site reads
// only so much of. What was stored before there were bounds stays, and may become less.

/** Of each kind. */
export const MOST_MOUNTS = 5000;
/** Of the settings of all mounts of a kind, as they are stored; those of a plain one take some 400. */
export const MOST_BYTES = 4 << 20;
/** Of description, options, lists and token type of one mount. */
export const MOST_OF_ONE = 64 << 10;
/** As long as these have no more, they are not refused for the room of the others. */
const ALWAYS = 256;
/** Of the room of all, for whoever may change some mounts: the rest is for operators. */
const SHARE = 3 / 4;

export interface Size {
  count: number;
  bytes: number;
}

const WHAT: Readonly<Record<MountKind, string>> = {
  secret: 'secrets engines',
  auth: 'auth methods',
};

/** Where operators have sudo: on mounts of any name. A mount cannot be called so. */
export const PLACES: Readonly<Record<MountKind, string>> = {
  secret: 'sys/mounts/*',
  auth: 'sys/auth/*',
};

/** What a caller may fill. */
export function boundsOf(isOperator: boolean): Size {
  const share = isOperator ? 1 : SHARE;
  return { count: share * MOST_MOUNTS, bytes: share * MOST_BYTES };
}

type Said = Pick<Mount, 'description' | 'options' | 'config'>;

/** Bytes of what may have any length; times and switches are not counted. */
function measureSaid({ description, options, config }: Said): number {
  const lists = LISTS.map((name) => config[name]);
  return Buffer.byteLength(JSON.stringify([description, options, config.token_type, lists]));
}

/**
 * Bytes that a mount wants of the room of all: none where it has little, or no more than before.
 *
 * @param before as it is stored; undefined for a new one
 * @throws Failure `invalid` where the mount would have too much by itself
 */
export function planGrowth(
  before: { mount: Said; bytes: number } | undefined,
  next: { mount: Said; bytes: number },
): number {
  const said = measureSaid(next.mount);
  const grows = !before || said > measureSaid(before.mount);
  if (!grows || said <= ALWAYS) return 0;
  if (said > MOST_OF_ONE) {
    throw invalid(
      `description, options and lists of the mount would have ${said} bytes, and may have at most ${MOST_OF_ONE}`,
    );
  }
  return next.bytes - (before?.bytes ?? 0);
}

/**
 * @param size of the mounts that there are
 * @param more what would come
 * @throws Failure `invalid` when there is no room for it
 */
export function requireRoom(kind: MountKind, size: Size, more: Size, isOperator: boolean): void {
  const next = { count: size.count + more.count, bytes: size.bytes + more.bytes };
  const most = boundsOf(isOperator);
  const without = isOperator ? '' : ` without sudo on ${PLACES[kind]}`;
  if (more.count > 0 && next.count > most.count) {
    const all = `there are ${size.count} ${WHAT[kind]}`;
    throw refuse(`${all}, and may be at most ${most.count}${without}`);
  }
  if (more.bytes > 0 && next.bytes > most.bytes) {
    const all = `the settings of all ${WHAT[kind]} would have ${next.bytes} bytes`;
    throw refuse(`${all}, and may have at most ${most.bytes}${without}`);
  }
}

const refuse = (because: string): Failure => invalid(`${because}: disable what is not needed`);
