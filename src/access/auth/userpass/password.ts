import { scrypt, timingSafeEqual } from 'node:crypto';

/** Cost of a hash (RFC 7914 §2): 32 MiB and some 80 ms, which every guess costs as well. */
const COST = { N: 2 ** 15, r: 8, p: 1 };
const MAX_MEMORY = 64 * 1024 * 1024;
const HASH_LENGTH = 32;
export const SALT_LENGTH = 16;

/** A hash that no password has; compared with where there is no user, so that it takes as long. */
export const NO_PASSWORD = format(COST, Buffer.alloc(SALT_LENGTH), Buffer.alloc(HASH_LENGTH));

/**
 * Hashes a password for storage, off the calling thread.
 *
 * @param salt {@link SALT_LENGTH} random bytes
 * @returns `scrypt$N$r$p$salt$hash`, the last two in base64url
 */
export async function hashPassword(password: string, salt: Uint8Array): Promise<string> {
  return format(COST, salt, await derive(password, salt, COST));
}

/** Says whether a password is the one that a hash was made of. */
export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const [scheme, n, r, p, salt = '', hash = ''] = stored.split('$');
  if (scheme !== 'scrypt') throw new Error('the stored password hash is of an unknown kind');
  const cost = { N: Number(n), r: Number(r), p: Number(p) };
  const derived = await derive(password, Buffer.from(salt, 'base64url'), cost);
  const expected = Buffer.from(hash, 'base64url');
  return expected.length === derived.length && timingSafeEqual(expected, derived);
}

function derive(password: string, salt: Uint8Array, cost: typeof COST): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  scrypt(password, salt, HASH_LENGTH, { ...cost, maxmem: MAX_MEMORY }, (error, derived) =>
    error ? reject(error) : resolve(derived),
  );
  return promise;
}

function format(cost: typeof COST, salt: Uint8Array, hash: Uint8Array): string {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');
  return `scrypt$${cost.N}$${cost.r}$${cost.p}$${text(salt)}$${text(hash)}`;
}
