import { type Argon2Parameters, argon2, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { withoutTrailing } from './edges.ts';

/** What one guess costs (RFC 9106 §3.1); `memory` in KiB. */
export interface HashCost {
  memory: number;
  passes: number;
  parallelism: number;
}

/** Bytes of salt that {@link hashPassword} takes. */
export const SALT_LENGTH = 16;
const TAG_LENGTH = 32;

const argon2id = promisify<'argon2id', Argon2Parameters, Uint8Array>(argon2);

/**
 * Hashes a password for storage, off the calling thread.
 *
 * @param salt {@link SALT_LENGTH} random bytes
 * @returns `$argon2id$v=19$m=…,t=…,p=…$salt$hash`
 */
export async function hashPassword(
  password: string,
  salt: Uint8Array,
  cost: HashCost,
): Promise<string> {
  return formatHash(cost, salt, await deriveArgon2(password, salt, cost));
}

/** A hash that no password has: checked where there is nobody, so that it takes as long. */
export function hashOfNobody(cost: HashCost): string {
  return formatHash(cost, new Uint8Array(SALT_LENGTH), new Uint8Array(TAG_LENGTH));
}

/** Whether a hash is one that {@link hashPassword} makes at that cost, not one of old. */
export function isMadeAt(cost: HashCost, hashed: string): boolean {
  return hashed.startsWith(formatCost(cost));
}

/** Says whether a password is the one that was hashed, in constant time; what is no hash is that of none. */
export async function verifyPassword(password: string, hashed: string): Promise<boolean> {
  const stored = parseArgon2(hashed) ?? parseScrypt(hashed);
  return stored !== undefined && timingSafeEqual(await stored.derive(password), stored.tag);
}

interface StoredHash {
  derive(password: string): Promise<Uint8Array>;
  tag: Uint8Array;
}

/** More is no hash of ours: whatever stands in a row, a check takes no more memory and time than that. */
const MOST: HashCost = { memory: 65_536, passes: 8, parallelism: 4 };

const ARGON2 =
  /^\$argon2id\$v=19\$m=([1-9]\d{0,4}),t=([1-9]),p=([1-9])\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;

function parseArgon2(hashed: string): StoredHash | undefined {
  const [, memory, passes, parallelism, salt = '', tag = ''] = ARGON2.exec(hashed) ?? [];
  const cost = {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
  };
  const isBounded =
    cost.memory <= MOST.memory &&
    cost.passes <= MOST.passes &&
    cost.parallelism <= MOST.parallelism &&
    // As little as the algorithm takes.
    cost.memory >= 8 * cost.parallelism;
  if (!isBounded) return undefined;
  return {
    derive: (password) => deriveArgon2(password, Buffer.from(salt, 'base64'), cost),
    tag: Buffer.from(tag, 'base64'),
  };
}

/** How hashes of old were made (RFC 7914 §2), all of them: 32 MiB. */
const SCRYPT_COST = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 << 20 };
const SCRYPT = /^scrypt\$32768\$8\$1\$([A-Za-z0-9_-]{22})\$([A-Za-z0-9_-]{43})$/;

function parseScrypt(hashed: string): StoredHash | undefined {
  const [whole, salt = '', tag = ''] = SCRYPT.exec(hashed) ?? [];
  if (whole === undefined) return undefined;
  return {
    derive: (password) => deriveScrypt(password, Buffer.from(salt, 'base64url')),
    tag: Buffer.from(tag, 'base64url'),
  };
}

function deriveScrypt(password: string, salt: Uint8Array): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  scrypt(password, salt, TAG_LENGTH, SCRYPT_COST, (error, derived) =>
    error ? reject(error) : resolve(derived),
  );
  return promise;
}

function deriveArgon2(password: string, nonce: Uint8Array, cost: HashCost): Promise<Uint8Array> {
  const message = Buffer.from(password, 'utf8');
  return argon2id('argon2id', { message, nonce, tagLength: TAG_LENGTH, ...cost });
}

function formatHash(cost: HashCost, salt: Uint8Array, tag: Uint8Array): string {
  const [writtenSalt, writtenTag] = [salt, tag].map((bytes) =>
    withoutTrailing(Buffer.from(bytes).toString('base64'), '='),
  );
  return `${formatCost(cost)}${writtenSalt}$${writtenTag}`;
}

function formatCost({ memory, passes, parallelism }: HashCost): string {
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$`;
}
