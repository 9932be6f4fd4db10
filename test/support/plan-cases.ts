import { listOpenOfPair } from '../../src/broker/sessions/connections/store.ts';
import type { CancellationCause } from '../../src/broker/sessions/dependents.store.ts';
import { listUnusedSince } from '../../src/broker/sessions/idle.store.ts';
import { listLive } from '../../src/broker/sessions/orphans.store.ts';
import { listSessionsOf } from '../../src/broker/sessions/paged-termination.store.ts';
import { terminate } from '../../src/broker/sessions/transitions.store.ts';
import { countLiveSessions } from '../../src/broker/sessions/user-limit.store.ts';
// What is read a page at a time, and what is changed by ids: questions whose plans are looked at on both engines.

import {
  deleteExpiredSecretIds,
  deleteSecretIdsOfRole,
  listExpiredSecretIds,
  listSecretIds,
} from '../../src/access/auth/approle/store.ts';
import { listFailures } from '../../src/access/auth/lockout/store.ts';
import { aliasIds } from '../../src/access/identity/aliases.store.ts';
import { readGivingGroups } from '../../src/access/identity/groups.store.ts';
import {
  countParents,
  hasMoreNestings,
  listAllParents,
  readNestings,
} from '../../src/access/identity/memberships.store.ts';
import {
  countLeases,
  expireLeases,
  listIdsInRange,
  listRange,
} from '../../src/access/leases/store.ts';
import {
  giveTurns,
  listDue,
  listExpired,
  listMountsOfDue,
  listOfTurn,
  listTurns,
  listUnbound,
} from '../../src/access/leases/turns.store.ts';
import { deleteLogIns } from '../../src/access/tokens/ending.store.ts';
import { removePage } from '../../src/access/tokens/expiration.store.ts';
import { listAccessors } from '../../src/access/tokens/store.ts';
import { countActiveUsers } from '../../src/broker/billing/store.ts';
import { endLogIns } from '../../src/broker/iam/auth-tokens/operations.ts';
import { listGroupsOf, listRolesOf } from '../../src/broker/iam/grants/store.ts';
import { holdRoom } from '../../src/broker/iam/roles/store.ts';
import { listLogIns, usersNamed } from '../../src/broker/principals/log-ins.store.ts';
import { loosenEntities } from '../../src/broker/principals/users.store.ts';
import { lockResources } from '../../src/broker/resource/holds.store.ts';
import { listInContainers, listOwnedIn } from '../../src/broker/resource/lists/store.ts';
import type { PageRequest } from '../../src/broker/resource/lists/window.ts';
import {
  holdGroupsOf,
  holdMembers,
  holdNumberOf,
  holdPrincipals,
} from '../../src/broker/resource/org-bounds/store.ts';
import {
  deleteExpiredInjected,
  listExpiredInjected,
} from '../../src/broker/sessions/credentials/store.ts';
import { deleteSessions } from '../../src/broker/sessions/store.ts';
import { cancelAffected } from '../../src/broker/sessions/termination.store.ts';
import {
  findSameToken,
  isHeldOn,
  listTokenMacs,
  listUnhashedTokens,
} from '../../src/broker/vault/tokens/store.ts';
import { listCelRoleNames } from '../../src/pki/cel/store.ts';
import {
  listEndedMetadata,
  listMetadataSerials,
} from '../../src/pki/certificates/metadata/store.ts';
import { deleteNames } from '../../src/pki/certificates/names.store.ts';
import { listCertificates } from '../../src/pki/certificates/search.store.ts';
import { listSerials, lookForSerials } from '../../src/pki/certificates/store.ts';
import type { CrlJob } from '../../src/pki/crl/builder/job.ts';
import { makeCrl } from '../../src/pki/crl/builder/jobs.ts';
import {
  findLaterEnd,
  listEnding,
  listNamed,
  listNames,
} from '../../src/pki/expiration/candidates.store.ts';
import { listWaiting, listWarned } from '../../src/pki/expiration/store.ts';
import { revocationsJoined } from '../../src/pki/mount-state/joins.store.ts';
import {
  listOldRequests,
  listRequests,
  listRequestsTo,
} from '../../src/pki/revocation/requests.store.ts';
import { listRoleNames } from '../../src/pki/roles/store.ts';
import {
  certificatesWithBytes,
  deleteEndedCertificates,
  deleteRevocations,
  endedCertificates,
  endedRevocations,
  partsWithNames,
  unassignedRevocations,
} from '../../src/pki/tidy/expired.store.ts';
import { listDueMounts, listRunning } from '../../src/pki/tidy/store.ts';
import type { Db } from '../../src/store/database.ts';
import type { Effect, Write } from '../../src/store/write.ts';
import { deleteMountRows, LEASES, MOUNT_TABLES } from '../../src/system/mounts/purge.store.ts';
import { removalReadsOf, removalWritesOf } from './removal-plan-cases.ts';

/** A row for whoever reads on after one. */
export const ROW = {
  id: 'x',
  key: 'c',
  serial: 'a',
  not_after: 5,
  status: 'pending',
  clusters: '',
  joined: '',
  data: '{}',
  body: '{}',
  subject_cn: 'x.test',
  names: null,
};

const page = { after: 'b', limit: 10 };
const keysOf = (ids: readonly string[]): string[][] => ids.map((id) => [id]);
const SECRET_IDS = MOUNT_TABLES.filter(([table]) => table === 'approle_secret_id');
const named = aliasIds({ mount_accessor: 'a', name: 'n' });
const range = { from: 'a', to: 'c' };
const role = { mount_id: 'm', name: 'r' };
const search = { now: 1, limit: 1, after: { not_after: 3, serial: 'x' } };
/** None of those that are read is on it. */
const SHORT_LIST: CrlJob = {
  content: {
    mount_id: 'm',
    scope: JSON.stringify({ members: [], known: null, epoch: 0, empty: false }),
    revision: 10,
  },
  basis: undefined,
  frame: { before: new Uint8Array(0), after: new Uint8Array(0) },
  algorithm: 'PureEd25519',
  max_entries: -1,
};
const windowOf = (order: PageRequest['order']): PageRequest => {
  return { type: 'session', order, before: { ms: 9, id: 'x' }, after_ms: 1, limit: 10 };
};

const ENDED = { mount_id: 'm', before: 9, not_after: 3, serial: 'x', limit: 10 };
const AFTER = { mount_id: 'm', after: 'x', limit: 10 };

type Read = [name: string, index: RegExp, read: (db: Db) => Promise<unknown>];

/** @param ids of some rows, where some are asked for */
export const readsOf = (ids: readonly string[]): Read[] => [
  [
    'open connections through two workers',
    /session_connection_egress \(egress_worker_id=\? AND worker_id=\?\)/,
    (db) => listOpenOfPair(db, { worker_id: 'w_1', egress_worker_id: 'w_2' }, 9),
  ],
  [
    'certificates that have ended',
    /pki_certificate_end \(mount_id=\? AND \(?not_after/,
    (db) => endedCertificates.all(db, ENDED),
  ],
  [
    'revocations whose certificates have ended',
    /pki_revocation_end \(mount_id=\? AND \(?not_after/,
    (db) => endedRevocations.all(db, ENDED),
  ],
  [
    'revocations that a further cluster has made',
    /pki_revocation_joined \(mount_id=\? AND joined_revision>/,
    (db) => revocationsJoined.all(db, { mount_id: 'm', after: 7, of: 7, limit: 9 }),
  ],
  [
    'revocations by nobody known',
    /pki_revocation_unassigned \(mount_id=\? AND serial>/,
    (db) => unassignedRevocations.all(db, AFTER),
  ],
  [
    'certificates with their bytes',
    /pki_certificate_1 \(mount_id=\? AND serial>/,
    (db) => certificatesWithBytes.all(db, AFTER),
  ],
  [
    'which certificates are stored',
    /pki_certificate_1 \(mount_id=\? AND serial=/,
    (db) => partsWithNames(db, 'm', ids, 9).next(),
  ],
  [
    'the end of successors',
    /pki_certificate_1 \(mount_id=\? AND serial=/,
    (db) => findLaterEnd(db, 'm', { not_after: 3, reversed: ['a', 'b'] }, ids, ['i']),
  ],
  ['tidyings under way', /pki_tidy_running/, (db) => listRunning.all(db, page)],
  [
    'mounts that are to be tidied',
    /pki_tidy_due \(due_at_ms</,
    (db) => listDueMounts.all(db, { now_ms: 9, limit: 10 }),
  ],
  ['leases beneath a prefix', /lease_1 \(id>/, (db) => listRange(db, range, page)],
  [
    'ids of leases beneath a prefix',
    /lease_1 \(id>/,
    (db) => listIdsInRange(db, range, { ...page, now: 1 }),
  ],
  ['the number of leases', /lease_1 \(id>\? AND id</, (db) => countLeases(db, 1)],
  ['leases without their token', /lease_unbound/, (db) => listUnbound(db, 10)],
  ['leases that have run out', /lease_expiry \(expires_at</, (db) => listExpired(db, 9, 10)],
  [
    'leases that are due',
    /lease_turn \(\(mount_id,turn,id\)>/,
    (db) => listDue(db, { after: { mount_id: 'm', turn: 't', id: 'x' }, limit: 10 }),
  ],
  ['mounts with leases that are due', /lease_turn \(mount_id>/, (db) => listMountsOfDue(db)],
  [
    'leases that are due, of the turns of a mount after one',
    /lease_turn \(mount_id=\? AND turn>/,
    (db) => listTurns(db, 'm', { after: 't', limit: 10 }),
  ],
  [
    'leases that are due, of the first turns of a mount',
    /lease_turn \(mount_id=/,
    (db) => listTurns(db, 'm', { after: undefined, limit: 10 }),
  ],
  [
    'leases that are due, of a turn',
    /lease_turn \(mount_id=\? AND turn=\? AND id>/,
    (db) => listOfTurn(db, { mount_id: 'm', turn: 't' }, page),
  ],
  ['serial numbers', /serial>/, (db) => listSerials(db, { mount_id: 'm', ...page })],
  [
    'serial numbers, of which a cluster has some',
    /pki_certificate_clusters \(mount_id=\? AND serial>/,
    (db) => lookForSerials(db, { mount_id: 'm', cluster: 'c' }, page),
  ],
  [
    'what a cluster is asked to revoke',
    /pki_revocation_request_cluster \(cluster=\? AND \(mount_id,serial\)>/,
    (db) => listRequestsTo.all(db, { cluster: 'c', mount_id: 'm', serial: 'x', limit: 10 }),
  ],
  ['requests to revoke', /mount_id=\? AND serial>/, (db) => listRequests.all(db, AFTER)],
  [
    'old requests to revoke',
    /pki_revocation_request_age \(mount_id=\? AND \(?requested_at_ms/,
    (db) => {
      const from = { requested_at_ms: 3, serial: 'x' };
      return listOldRequests.all(db, { mount_id: 'm', before_ms: 9, ...from, limit: 10 });
    },
  ],
  ['what has metadata', /serial>/, (db) => listMetadataSerials(db, { mount_id: 'm', ...page })],
  [
    'metadata of what has ended',
    /certificate_metadata_end/,
    (db) => listEndedMetadata(db, { mount_id: 'm', before: 9, limit: 10 }),
  ],
  ['certificates', /certificate_end/, (db) => listCertificates(db, 'm', search)],
  [
    'certificates of a role and an issuer',
    /certificate_role/,
    (db) => listCertificates(db, 'm', { ...search, role: 'r', issuer_id: 'i', state: 'valid' }),
  ],
  [
    'revoked certificates of an issuer',
    /certificate_issuer/,
    (db) => listCertificates(db, 'm', { ...search, issuer_id: 'i', state: 'revoked' }),
  ],
  [
    'certificates that end soon',
    /certificate_end/,
    (db) => listEnding(db, 'm', { from: { not_after: 1, serial: '' }, to: 9, limit: 200 }),
  ],
  [
    'names of a certificate',
    /pki_certificate_1 \(mount_id=\? AND serial=/,
    (db) => listNames(db, 'm', 's'),
  ],
  [
    'which of some certificates have all of some names',
    /pki_certificate_name \(mount_id=\? AND reversed=\? AND serial=|theirs USING PRIMARY KEY \(mount_id=\? AND reversed=\? AND serial=/,
    (db) => findLaterEnd(db, 'm', { not_after: 3, reversed: ['a', 'b'] }, ids, []),
  ],
  [
    'certificates of one name',
    /reversed=\? AND serial>/,
    (db) => listNamed(db, 'm', { reversed: 'r', after: '', limit: 200 }),
  ],
  ['mounts of which somebody is warned', /mount_id>/, (db) => listWarned(db, '', 100)],
  ['warnings on their way', /message_order/, (db) => listWaiting(db, 'm', 'mail')],
  [
    'certificates with a name',
    /reversed>/,
    (db) => listCertificates(db, 'm', { ...search, name: '*.test', expires_after: 7 }),
  ],
  ['names of roles', /name>/, (db) => listRoleNames(db, { mount_id: 'm', ...page })],
  ['names of CEL roles', /name>/, (db) => listCelRoleNames(db, { mount_id: 'm', ...page })],
  ['accessors of tokens', /token_\d \(accessor>/, (db) => listAccessors(db, page)],
  ['failed log-ins', /failure_1 \(id>/, (db) => listFailures(db, page)],
  [
    'what was revoked before all others',
    /revocation_revision/,
    (db) => makeCrl(db, SHORT_LIST, () => new Uint8Array(64)),
  ],
  ['secret IDs', /secret_id_page/, (db) => listSecretIds(db, role, page)],
  ['secret IDs that have run out', /id_expiry/, (db) => listExpiredSecretIds(db, 9, 10)],
  ['log-ins, the oldest first', /type_created/, (db) => listLogIns(db, { ms: 1, id: 'x' }, 10)],
  ['groups in groups', /member_groups/, (db) => hasMoreNestings(db, 10)],
  ['all groups in groups', /member_groups/, (db) => listAllParents(db)],
  [
    'groups of groups',
    /member_id=\? AND kind=/,
    (db) => Array.fromAsync(readNestings(db, ['a', 'b'])),
  ],
  ['how many groups groups are in', /member_id=\? AND kind=/, (db) => countParents(db, ['a', 'b'])],
  [
    'groups that give policies',
    /identity_group_giving/,
    (db) => Array.fromAsync(readGivingGroups(db, ids)),
  ],
  [
    'users who were active in a month',
    /\(month=\? AND user_id>/,
    (db) => countActiveUsers(db, { from: '2026-11', before: '2026-12' }),
  ],
  [
    'what was kept for workers and has run out',
    /credential_expiry/,
    (db) => listExpiredInjected(db, 9, 10),
  ],
  [
    'sessions through some hosts',
    /session_of_host/,
    (db) => listSessionsOf(db, { host_ids: ['h'] }, 10),
  ],
  [
    'sessions through a set of hosts',
    /session_of_set/,
    (db) => listSessionsOf(db, { of_host_sets: ['s'] }, 10),
  ],
  [
    'sessions through hosts that leave a set',
    /session_of_host/,
    (db) => listSessionsOf(db, { host_set_id_of: 's', host_ids_of: ['h'] }, 10),
  ],
  [
    'live sessions by tokens',
    /session_live_token/,
    (db) => listSessionsOf(db, { token_ids: ids }, 10),
  ],
  [
    'live sessions by log-ins without tokens',
    /session_live_alias/,
    (db) => listSessionsOf(db, { alias_ids: named }, 10),
  ],
  [
    'live sessions by a mount',
    /session_live_mount/,
    (db) => listSessionsOf(db, { auth_mount: { id: 'm' } }, 10),
  ],
  [
    'live sessions of a person',
    /session_live_user/,
    (db) => listSessionsOf(db, { of_entities: ['e', 'f'] }, 10),
  ],
  [
    'live sessions of whom aliases name',
    /session_live_user/,
    (db) => listSessionsOf(db, { of_named: named }, 10),
  ],
  ['how many sessions of a user go on', /session_live_user/, (db) => countLiveSessions(db, 'u', 9)],
  [
    'sessions that may be idle, with what they carry',
    /session_live_use/,
    (db) => listUnusedSince(db, { before: 9, now: 9, limit: 10 }),
  ],
  ['live sessions', /session_status/, (db) => listLive(db, { status: 'active', id: 'x' }, 10)],
  [
    'groups of a user',
    /link_to \(to_id=\? AND kind=\? AND from_id>/,
    (db) => listGroupsOf(db, 'u'),
  ],
  ['roles of principals', /link_to \(to_id=\? AND kind=/, (db) => listRolesOf(db, ['u', 'g'])],
  [
    'what a user owns, the newest first',
    /owner_created/,
    (db) => listOwnedIn(db, 'u', ['p'], windowOf('created_ms')),
  ],
  [
    'what a user owns, the last changed first',
    /owner_updated/,
    (db) => listOwnedIn(db, 'u', ['p'], windowOf('updated_ms')),
  ],
  [
    'a type, in the order in which it was made',
    /resource_type_created/,
    (db) => listInContainers(db, ['p', 'q'], windowOf('created_ms'), { walk: true, share: 1 }),
  ],
  [
    'a type of which little is wanted',
    /resource_type_created/,
    (db) => listInContainers(db, ['p', 'q'], windowOf('created_ms'), { walk: true }),
  ],
  [
    'a type, the last changed first',
    /resource_type_updated/,
    (db) => listInContainers(db, ['p', 'q'], windowOf('updated_ms'), { walk: true, share: 1 }),
  ],
  [
    'what a container holds',
    /resource_created/,
    (db) => listInContainers(db, ['p'], windowOf('created_ms'), { walk: false }),
  ],
  [
    'rows of a Vault token',
    /vault_token_same \(token_mac=\? AND \(replaced_at,id\)>/,
    (db) => isHeldOn(db, { id: 'x', token_mac: 't', replaced_at: 5 }, 1),
  ],
  ['another row of a Vault token', /vault_token_same \(token_mac=/, (db) => findSameToken(db, 't')],
  [
    'Vault tokens without a hash',
    /vault_token_same/,
    (db) => listUnhashedTokens(db, { skipped: 1, limit: 10 }),
  ],
  ['hashes of Vault tokens', /vault_token_1 \(id=/, (db) => listTokenMacs(db, ids)],
  ...removalReadsOf(ids),
];

const clock = { now: () => 1 };
const MANY_HOSTS = Array.from({ length: 2_000 }, (_, at) => `h-${at}`);
const losing = (loss: CancellationCause): Write[] => cancelAffected(loss, 1);

/** Without the version, of which there is one. */
const questions = (writes: readonly Write[]): readonly Write[] => writes.slice(1);
const org = { id: 'o', type: 'org', parent_scope_id: 'global' } as const;

const withNames = (serial: string) => ({ serial, subject_cn: serial, names: null });

type Case = [what: string, index: RegExp, writes: readonly Effect[]];

/** What is found by its ids, or by those of what ends, is not looked for among all that are kept. */
export const writesOf = async (ids: readonly string[]): Promise<Case[]> => [
  [
    'certificates that have ended',
    /pki_certificate_1 \(mount_id=\? AND serial=/,
    deleteEndedCertificates('m', ids.map(withNames), 9),
  ],
  [
    'names of certificates that have ended',
    /pki_certificate_name .*\(mount_id=\? AND reversed=\? AND serial=/,
    deleteNames('m', ids.map(withNames)),
  ],
  [
    'revocations of certificates that have ended',
    /pki_revocation.*\(mount_id=\? AND serial=/,
    deleteRevocations('m', ids, { before: 9, revision: 9 }),
  ],
  ['sessions through hosts', /session_of_host/, losing({ host_ids: ids })],
  ['sessions through host sets', /session_of_set/, losing({ of_host_sets: ids })],
  [
    'sessions through hosts of a set',
    /session_of_host/,
    losing({ host_set_id_of: 's', host_ids: ids }),
  ],
  [
    'sessions through thousands of hosts of a set',
    /session_of_set \(host_set_id=\? AND status=\?\)/,
    losing({ host_set_id_of: 's', host_ids: MANY_HOSTS }),
  ],
  ['sessions through a catalog', /session_of_host/, losing({ host_catalog_id: 'c' })],
  ['sessions to a target', /session_of_target/, losing({ target_id: 't' })],
  ['sessions of log-ins', /session_auth_token/, losing({ log_ins: { ids } })],
  ['live sessions of tokens', /session_live_token/, losing({ token_ids: ids, ended_by: 0 })],
  ['live sessions of log-ins without tokens', /session_live_alias/, losing({ alias_ids: named })],
  ['live sessions by a mount', /session_live_mount/, losing({ auth_mount: { id: 'm' } })],
  ['live sessions of a person', /session_live_user/, losing({ of_entities: ['e', 'f'] })],
  ['live sessions of whom aliases name', /session_live_user/, losing({ of_named: named })],
  ['sessions of a scope', /session_auth_token/, losing({ scope_ids: ['o'] })],
  ['sessions of users', /resource_owner/, losing({ user_ids: ids })],
  ['sessions that have ended', /session_1 \(id=/, losing({ ended_among: ids })],
  ['sessions that end', /session_1 \(id=/, terminate(ids, 1)],
  ['sessions that are forgotten', /session_1 \(id=/, deleteSessions(ids)],
  ['log-ins', /resource_1 \(id=/, await endLogIns(clock, { ids })],
  ['log-ins of tokens', /resource_key/, await endLogIns(clock, { token_ids: ids, ended_by: 0 })],
  ['log-ins of users', /resource_owner/, await endLogIns(clock, { user_ids: ids })],
  ['log-ins of a person', /resource_owner/, await endLogIns(clock, { entity_ids: ['e', 'f'] })],
  ['log-ins of whom aliases name', /resource_owner/, await endLogIns(clock, { alias_ids: named })],
  ['log-ins by accounts', /resource_link_to/, await endLogIns(clock, { account_ids: ids })],
  ['users of aliases', /resource_1 \(id=/, [loosenEntities(usersNamed(named))]],
  ['accounts of nobody', /resource_1 \(id=/, lockResources(ids, '')],
  [
    'secret IDs of a role',
    /id_1 \(id=/,
    [deleteSecretIdsOfRole({ mount_id: 'm', name: 'r' }, ids)],
  ],
  ['secret IDs that have run out', /id_1 \(id=/, [deleteExpiredSecretIds(ids, 1)]],
  ['roles of an org', /room USING PRIMARY KEY \(org_id=/, questions(holdNumberOf('role', org))],
  [
    'grants of an org',
    /room USING PRIMARY KEY \(org_id=/,
    questions(holdRoom({ scope_id: 'o', org_id: 'o' })),
  ],
  ['members of groups of an org', /PRIMARY KEY \(org_id=/, questions(holdMembers(org))],
  ['principals of roles of an org', /PRIMARY KEY \(org_id=/, questions(holdPrincipals(org))],
  ['groups of users in an org', /link_to \(to_id=\? AND kind=/, questions(holdGroupsOf(ids, org))],
  ['leases', /lease_1 \(id=/, [expireLeases(ids, 1)]],
  ['leases that have no turn yet', /lease_1 \(id=/, [giveTurns(ids)]],
  ['what workers were given', /session_id=/, [deleteExpiredInjected(ids, 1)]],
  ['tokens by aliases', /token_alias/, [deleteLogIns(named)]],
  ['leases that a mount left', /lease_1 \(id=/, [deleteMountRows('m', LEASES, keysOf(ids))]],
  [
    'secret IDs that a mount left',
    /id_1 \(id=/,
    SECRET_IDS.map((place) => deleteMountRows('m', place, keysOf(ids))),
  ],
  ['dead tokens', /token_1 \(id=/, removePage({ ids, now: 1, limit: 500 })],
  ...(await removalWritesOf(ids)),
];
