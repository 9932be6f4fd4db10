import { build } from '../../../store/database.ts';
import { type Write, write } from '../../../store/write.ts';

/** Notes that a token was used; refuses the write set if it was used before. */
export function insertNonce(nonce: string, used_ms: number): Write {
  return write(build.insertInto('recovery_nonce').values({ nonce, used_ms }), {
    rows: 1,
    conflict: 'the recovery token was used before',
  });
}

/** Nonces forgotten with each that is taken: they become fewer, and nobody waits for all of them. */
const FORGOTTEN_AT_ONCE = 100;

/** Forgets some of the nonces before an instant, the oldest first. */
export function deleteNoncesBefore(used_ms: number): Write {
  const old = build.selectFrom('recovery_nonce').select('nonce').where('used_ms', '<', used_ms);
  const some = old.orderBy('used_ms').limit(FORGOTTEN_AT_ONCE);
  return write(build.deleteFrom('recovery_nonce').where('nonce', 'in', some));
}
