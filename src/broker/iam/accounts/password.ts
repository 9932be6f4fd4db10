import { type Argon2Parameters, argon2, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { withoutTrailing } from '../../../core/edges.ts';

/** Bytes of salt that {@link hashPassword} takes. */
export const SALT_LENGTH = 16;
const TAG_LENGTH = 32;

/**
 * Cost of a check: some 20 ms and 19 MiB, OWASP's first choice for argon2id. Programs that log
 * in for each command do so hundreds of times an hour.
 */
const COST = { memory: 19_456, passes: 2, parallelism: 1 } as const;

const derive: (algorithm: 'argon2id', parameters: Argon2Parameters) => Promise<Uint8Array> =
  promisify(argon2);

/** A password's hash as text, `$argon2id$v=19$m=…,t=…,p=…$salt$hash` (RFC 9106). */
export async function hashPassword(password: string, salt: Uint8Array): Promise<string> {
  const hash = await run(password, salt, COST);
  const { memory, passes, parallelism } = COST;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(hash)}`;
}

/** Stands for the hash of an account that does not exist, so that both take as long. */
export const NO_PASSWORD = `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${base64(new Uint8Array(SALT_LENGTH))}$${base64(new Uint8Array(TAG_LENGTH))}`;

const FORM =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** Says whether a password is the one that was hashed, in constant time. */
export async function verifyPassword(password: string, hashed: string): Promise<boolean> {
  const [, memory, passes, parallelism, salt = '', hash = ''] = FORM.exec(hashed) ?? [];
  const cost = {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
  };
  const expected = Buffer.from(hash, 'base64');
  if (expected.length !== TAG_LENGTH) return false;
  const found = await run(password, Buffer.from(salt, 'base64'), cost);
  return timingSafeEqual(found, expected);
}

function run(
  password: string,
  nonce: Uint8Array,
  cost: { memory: number; passes: number; parallelism: number },
): Promise<Uint8Array> {
  const message = Buffer.from(password, 'utf8');
  return derive('argon2id', { message, nonce, tagLength: TAG_LENGTH, ...cost });
}

function base64(bytes: Uint8Array): string {
  return withoutTrailing(Buffer.from(bytes).toString('base64'), '=');
}
