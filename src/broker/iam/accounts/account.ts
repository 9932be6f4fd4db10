import { z } from 'zod';
import { type HashCost, hashOfNobody } from '../../../core/password-hash.ts';

/** What a password account keeps. */
export interface AccountBody {
  login_name: string;
  /** Empty for an account that nobody can log in with yet. */
  password_hash: string;
}

/**
 * Cost of a check: some 20 ms and 19 MiB, OWASP's first choice for argon2id. Programs that log
 * in for each command do so hundreds of times an hour.
 */
export const HASH_COST: HashCost = { memory: 19_456, passes: 2, parallelism: 1 };

/** Stands for the hash of an account that does not exist, so that both take as long. */
export const NO_PASSWORD = hashOfNobody(HASH_COST);

/** Attributes by kind of account. */
export const accountAttributes = {
  password: z.object({
    login_name: z.string().optional().describe('Lower case; unique in the auth method.'),
    password: z.string().optional().describe('Input only; it is never shown.'),
  }),
};

/** Under what an account is found when somebody logs in. */
export function loginKey(auth_method_id: string, login_name: string): string {
  return `${auth_method_id}:${login_name}`;
}
