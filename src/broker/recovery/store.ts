import { build } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';

/** Notes that a token was used; refuses the write set if it was used before. */
export function insertNonce(nonce: string, used_ms: number): Write {
  return write(build.insertInto('recovery_nonce').values({ nonce, used_ms }), {
    rows: 1,
    conflict: 'the recovery token was used before',
  });
}

export function deleteNoncesBefore(used_ms: number): Write {
  return write(build.deleteFrom('recovery_nonce').where('used_ms', '<', used_ms));
}
