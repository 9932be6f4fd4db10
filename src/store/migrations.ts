import { Failure } from '../core/failure.ts';
import type { Migration } from './migration.ts';
import { foundation } from './migrations/0001-foundation.ts';
import { seal } from './migrations/0002-seal.ts';
import { access } from './migrations/0003-access.ts';
import { authority } from './migrations/0004-authority.ts';
import { mounts } from './migrations/0005-mounts.ts';
import { revocation } from './migrations/0006-revocation.ts';
import { audit } from './migrations/0007-audit.ts';
import { leases } from './migrations/0008-leases.ts';
import { identity } from './migrations/0009-identity.ts';
import { lists } from './migrations/0011-lists.ts';
import { broker } from './migrations/0012-broker.ts';
import { sessions } from './migrations/0013-sessions.ts';
import { credentials } from './migrations/0015-credentials.ts';
import { workers } from './migrations/0016-workers.ts';
import { endings } from './migrations/0017-endings.ts';
import { shareHashes } from './migrations/0018-share-hashes.ts';
import { lockout } from './migrations/0019-lockout.ts';
import { nameKeys } from './migrations/0024-name-keys.ts';

import { roleIdKeys } from './migrations/0025-role-id-keys.ts';
import { tokenTrees } from './migrations/0027-token-trees.ts';
import { tokenPages } from './migrations/0030-token-pages.ts';
import { logIns } from './migrations/0031-log-ins.ts';
import { pages } from './migrations/0032-pages.ts';
import { leaseHolders } from './migrations/0034-lease-holders.ts';
import { sessionHolders } from './migrations/0037-session-holders.ts';
import { sessionPages } from './migrations/0038-session-pages.ts';
import { sourcePages } from './migrations/0039-source-pages.ts';
import { issuersOfRoles } from './migrations/0041-issuers-of-roles.ts';
import { makersOfWrappings } from './migrations/0044-makers-of-wrappings.ts';
import { configSubjects } from './migrations/0045-config-subjects.ts';
import { removalsWithin } from './migrations/0046-removals-within.ts';
import { linkedFrom } from './migrations/0047-linked-from.ts';
import { sealNext } from './migrations/0049-seal-next.ts';
import { membersApart } from './migrations/0050-members-apart.ts';
import { timesOfMoves } from './migrations/0052-times-of-moves.ts';
import { roomInOrgs } from './migrations/0056-room-in-orgs.ts';
import { bodyTags } from './migrations/0057-body-tags.ts';
import { liveSessions } from './migrations/0059-live-sessions.ts';
import { sessionsOfSets } from './migrations/0060-sessions-of-sets.ts';
import { replacedSeals } from './migrations/0064-replaced-seals.ts';
import { everybodysRoles } from './migrations/0065-everybodys-roles.ts';
import { notedOnce } from './migrations/0066-noted-once.ts';
import { liveSessionsOfSets } from './migrations/0067-live-sessions-of-sets.ts';
import { groupsThatGive } from './migrations/0068-groups-that-give.ts';
import { sameVaultTokens } from './migrations/0069-same-vault-tokens.ts';
import { vaultTokenOwners } from './migrations/0070-vault-token-owners.ts';
import { leaseTurns } from './migrations/0071-lease-turns.ts';
import { incarnation } from './migrations/0072-incarnation.ts';
import { issuingVersions } from './migrations/0073-issuing-versions.ts';
import { auditHeaders } from './migrations/0074-audit-headers.ts';
import { certificateMetadata } from './migrations/0084-certificate-metadata.ts';
import { blockedKeys } from './migrations/0085-blocked-keys.ts';
import { deltaCrls } from './migrations/0087-delta-crls.ts';
import { expiredEntries } from './migrations/0088-expired-entries.ts';
import { managedKeys } from './migrations/0090-managed-keys.ts';
import { wrappedSealKeys } from './migrations/0091-wrapped-seal-keys.ts';
import { reasonsOfIssuers } from './migrations/0092-reasons-of-issuers.ts';
import { tidying } from './migrations/0093-tidying.ts';
import { externalPolicy } from './migrations/0096-external-policy.ts';
import { celRoles } from './migrations/0099-cel-roles.ts';
import { clusters } from './migrations/0101-clusters.ts';
import { clustersOfCertificates } from './migrations/0102-clusters-of-certificates.ts';
import { revokedIssuers } from './migrations/0103-revoked-issuers.ts';
import { revocationRequests } from './migrations/0104-revocation-requests.ts';
import { expirationWarnings } from './migrations/0105-expiration-warnings.ts';
import { pssOfDevices } from './migrations/0106-pss-of-devices.ts';
import { joinedRevocations } from './migrations/0108-joined-revocations.ts';
import { injectingSessions } from './migrations/0109-injecting-sessions.ts';
import { sessionRecordings } from './migrations/0110-session-recordings.ts';
import { workersAlone } from './migrations/0112-workers-alone.ts';
import { hops } from './migrations/0113-hops.ts';
import { sshAuthorities } from './migrations/0114-ssh-authorities.ts';
import { useOfSessions } from './migrations/0115-use-of-sessions.ts';
import { egressWorkers } from './migrations/0116-egress-workers.ts';
import { recordedChannels } from './migrations/0118-recorded-channels.ts';
import { namesInRows } from './migrations/0119-names-in-rows.ts';
import { sshRoleTags } from './migrations/0120-ssh-role-tags.ts';

/** In order of their numbers; a new one is added at the end. */
export const MIGRATIONS: readonly Migration[] = [
  foundation,
  seal,
  access,
  authority,
  mounts,
  revocation,
  audit,
  leases,
  identity,
  lists,
  broker,
  sessions,
  credentials,
  workers,
  endings,
  shareHashes,
  lockout,
  nameKeys,
  roleIdKeys,
  tokenTrees,
  tokenPages,
  logIns,
  pages,
  leaseHolders,
  sessionHolders,
  sessionPages,
  sourcePages,
  issuersOfRoles,
  makersOfWrappings,
  configSubjects,
  removalsWithin,
  linkedFrom,
  sealNext,
  membersApart,
  timesOfMoves,
  roomInOrgs,
  bodyTags,
  liveSessions,
  sessionsOfSets,
  replacedSeals,
  everybodysRoles,
  notedOnce,
  liveSessionsOfSets,
  groupsThatGive,
  sameVaultTokens,
  vaultTokenOwners,
  leaseTurns,
  incarnation,
  issuingVersions,
  auditHeaders,
  certificateMetadata,
  blockedKeys,
  deltaCrls,
  expiredEntries,
  managedKeys,
  wrappedSealKeys,
  reasonsOfIssuers,
  tidying,
  externalPolicy,
  celRoles,
  clusters,
  clustersOfCertificates,
  revokedIssuers,
  revocationRequests,
  expirationWarnings,
  pssOfDevices,
  joinedRevocations,
  injectingSessions,
  sessionRecordings,
  workersAlone,
  hops,
  sshAuthorities,
  useOfSessions,
  egressWorkers,
  recordedChannels,
  namesInRows,
  sshRoleTags,
];

/**
 * Works out which steps a database still needs: also one with a smaller number than others that it
 * has had, as a program from between two releases can leave it.
 *
 * @param applied the numbers of the steps that it has had
 * @throws Failure `unavailable` when it has had one that this program does not know
 */
export function planMigrations(
  applied: readonly number[],
  known: readonly Migration[] = MIGRATIONS,
): readonly Migration[] {
  const newest = Math.max(0, ...known.map(({ number }) => number));
  const strange = applied.filter((one) => known.every(({ number }) => number !== one));
  if (strange.length > 0) {
    const at = Math.max(...strange);
    const because =
      at > newest
        ? `is at schema ${at} and this program knows schemas up to ${newest}`
        : `has had step ${at} of the schema, which this program does not know`;
    throw new Failure(
      'unavailable',
      `the database ${because}: start the program that last used the database, or a later one`,
    );
  }
  return known.filter(({ number }) => !applied.includes(number));
}
