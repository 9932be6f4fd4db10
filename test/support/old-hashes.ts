import { randomBytes, scryptSync } from 'node:crypto';

/** A password's hash as servers of old kept those of `userpass` users; `other` is a cost that none of them had. */
export function hashOfOld(
  password: string,
  other: Partial<Record<'N' | 'r' | 'p', number>> = {},
): string {
  const cost = { N: 2 ** 15, r: 8, p: 1, ...other };
  const salt = randomBytes(16);
  const tag = scryptSync(password, salt, 32, { ...cost, maxmem: 256 << 20 });
  return `scrypt$${cost.N}$${cost.r}$${cost.p}$${salt.toString('base64url')}$${tag.toString('base64url')}`;
}
