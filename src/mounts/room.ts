import { Failure } from '../core/failure.ts';
import type { MountKind } from './mount.ts';

// All mounts are kept in memory, read again when one was changed, and listed in one answer, which a site reads
// only so much of. What was stored before there were bounds stays, and may become less.

/** Of each kind. */
export const MOST_MOUNTS = 5000;
/** Of the settings of all mounts of a kind, as they are stored; those of a plain one take some 400. */
export const MOST_BYTES = 4 << 20;

export interface Size {
  count: number;
  bytes: number;
}

const WHAT: Readonly<Record<MountKind, string>> = {
  secret: 'secrets engines',
  auth: 'auth methods',
};

/**
 * @param size of the mounts that there are
 * @param more what would come
 * @throws Failure `invalid` when there is no room for it
 */
export function requireRoom(kind: MountKind, size: Size, more: Size): void {
  const next = { count: size.count + more.count, bytes: size.bytes + more.bytes };
  if (more.count > 0 && next.count > MOST_MOUNTS) {
    throw refuse(`there are ${size.count} ${WHAT[kind]}, and may be at most ${MOST_MOUNTS}`);
  }
  if (more.bytes > 0 && next.bytes > MOST_BYTES) {
    const all = `the settings of all ${WHAT[kind]} would have ${next.bytes} bytes`;
    throw refuse(`${all}, and may have at most ${MOST_BYTES}`);
  }
}

const refuse = (because: string): Failure =>
  new Failure('invalid', `${because}: disable what is not needed`);
