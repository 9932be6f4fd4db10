import { invalid } from '../core/failure.ts';
import { judgeShareCounts, opensByItself, type SealKind, type ShareCounts } from './seal.ts';

/** What `sys/init` is asked for; undefined or 0: not said. */
export interface InitRequest {
  secret_shares?: number | undefined;
  secret_threshold?: number | undefined;
  recovery_shares?: number | undefined;
  recovery_threshold?: number | undefined;
}

/**
 * Decides how many shares there will be: of the seal key for `shamir`, of the recovery key for
 * all others.
 *
 * @returns undefined for a seal that opens by itself without recovery shares: then no root token can be made
 *   later, and the recovery key never exists
 * @throws Failure `invalid` for counts that cannot be, or that belong to the other kind
 */
export function chooseShareCounts(kind: SealKind, request: InitRequest): ShareCounts | undefined {
  const secret = { shares: request.secret_shares ?? 0, threshold: request.secret_threshold ?? 0 };
  const recovery = {
    shares: request.recovery_shares ?? 0,
    threshold: request.recovery_threshold ?? 0,
  };
  const [own, other] = kind === 'shamir' ? [secret, recovery] : [recovery, secret];
  const [prefix, otherPrefix] =
    kind === 'shamir' ? (['secret', 'recovery'] as const) : (['recovery', 'secret'] as const);
  if (other.shares !== 0 || other.threshold !== 0) {
    throw invalid(
      `parameters ${otherPrefix}_shares,${otherPrefix}_threshold not applicable to seal type ${kind}: give ${prefix}_shares and ${prefix}_threshold`,
    );
  }
  if (opensByItself(kind) && own.shares === 0 && own.threshold === 0) return undefined;
  const because = judgeShareCounts(own, prefix);
  if (because !== undefined) throw invalid(`invalid seal configuration: ${because}`);
  return own;
}

/**
 * Keys for shares to be encrypted to are not taken: whoever starts with them expects that
 * nobody sees a share in the clear.
 *
 * @throws Failure `invalid` naming the field
 */
export function rejectPgpKeys(
  fields: Readonly<Record<string, string | readonly string[] | undefined>>,
): void {
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined && value.length > 0) {
      throw invalid(`${name} is not supported: leave it out`);
    }
  }
}
