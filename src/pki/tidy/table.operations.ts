import { tidyCertificates, tidyUnreadable } from './certificates.operations.ts';
import type { TidyFlag } from './fields.ts';
import { tidyIssuers } from './issuers.operations.ts';
import { tidyMetadata } from './metadata.operations.ts';
import { tidyRequests } from './requests.operations.ts';
import { tidyAcross, tidyAssociations, tidyRevocations } from './revocations.operations.ts';
import type { TidyOperation } from './work.ts';

/**
 * What each flag does, in the order in which it is done. A feature whose rows can be tidied puts its work here, in the
 * place of `nothing`; its counts are in `status.ts`.
 */
export const TIDY_OPERATIONS: readonly TidyOperation[] = [
  tidyCertificates,
  tidyUnreadable,
  tidyAssociations,
  tidyRevocations,
  tidyIssuers,
  nothing('tidy_move_legacy_ca_bundle'),
  nothing('tidy_acme'),
  tidyRequests,
  tidyAcross,
  tidyMetadata,
  nothing('tidy_cmpv2_nonce_store'),
];

/** There is nothing of the kind that could be tidied. */
function nothing(flag: TidyFlag): TidyOperation {
  return { flag, async *pages() {} };
}
