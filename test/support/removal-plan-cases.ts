// What removals and their pages ask, as the questions of `plan-cases.ts`.

import { aliasIds, deleteAliases, takeAliases } from '../../src/access/identity/aliases.store.ts';
import { deleteEntity, takeEntities } from '../../src/access/identity/entities.store.ts';
import { deleteMemberships } from '../../src/access/identity/memberships.store.ts';
import {
  expireLeasesOfMount,
  expireRange,
  listUnexpiredOfMount,
  loosenLeases,
} from '../../src/access/leases/store.ts';
import {
  deleteAlone,
  deleteTree,
  deleteTreesByIds,
  listTokensOfAliases,
} from '../../src/access/tokens/ending.store.ts';
import { deleteBare, listTokensOfMount } from '../../src/access/tokens/expiration.store.ts';
import { endLogIns, revokeTokensIn } from '../../src/broker/iam/auth-tokens/operations.ts';
import {
  listAmong,
  listContainedIds,
  listInScopes,
  listLinksInScopes,
  listLogInsOf,
  listProjects,
} from '../../src/broker/iam/removal.store.ts';
import { listIdsByToken } from '../../src/broker/principals/log-ins.store.ts';
import { clearOwner } from '../../src/broker/principals/users.store.ts';
import { removeResources } from '../../src/broker/resource/removals.store.ts';
import {
  deleteInjectedUpTo,
  endOfSources,
  listInjectedOfSources,
  listLeasesOfSources,
} from '../../src/broker/sessions/credentials/store.ts';
import type { Db } from '../../src/store/database.ts';
import type { Effect } from '../../src/store/write.ts';

const clock = { now: () => 1 };
const named = aliasIds({ mount_accessor: 'a', name: 'n' });
const but = { ids: ['x'], member_id: 'y' };
const few = { but: ['x'], limit: 10 };
const page = { type: 'target', but, limit: 10 } as const;
/** Scopes in which little lies. */
const SCOPES = ['o_1', 'p_1'];

type Read = [name: string, index: RegExp, read: (db: Db) => Promise<unknown>];
type Case = [what: string, index: RegExp, writes: readonly Effect[]];

export const removalReadsOf = (ids: readonly string[]): Read[] => [
  ['log-ins of scopes', /resource_scope/, (db) => listLogInsOf(db, { scope_ids: SCOPES }, few)],
  ['log-ins of users', /resource_owner/, (db) => listLogInsOf(db, { user_ids: ids }, few)],
  [
    'log-ins of a person',
    /resource_owner/,
    (db) => listLogInsOf(db, { entity_ids: ['e', 'f'] }, few),
  ],
  ['log-ins by accounts', /link_to/, (db) => listLogInsOf(db, { account_ids: ids }, few)],
  ['log-ins by a method', /link_to/, (db) => listLogInsOf(db, { auth_method_id: 'am' }, few)],
  ['log-ins of aliases', /resource_owner/, (db) => listLogInsOf(db, { alias_ids: named }, few)],
  ["own log-ins among a scope's", /INDEX/, (db) => listAmong(db, { scope_ids: SCOPES }, ['x'])],
  ["own log-ins among a method's", /INDEX/, (db) => listAmong(db, { auth_method_id: 'am' }, ['x'])],
  ['log-ins of tokens', /resource_key/, (db) => listIdsByToken(db, ids)],
  ['what a container that goes holds', /INDEX/, (db) => listContainedIds(db, 'c', page)],
  ['what scopes that go hold', /resource_scope/, (db) => listInScopes(db, SCOPES, page)],
  [
    'groups of scopes that go',
    /resource_scope/,
    (db) => listInScopes(db, SCOPES, { ...page, type: 'group' }),
  ],
  ['projects of an org', /INDEX/, (db) => listProjects(db, 'o_1', { but, limit: 10 })],
  [
    'members in scopes that go',
    /resource_scope/,
    (db) => listLinksInScopes(db, SCOPES, { ...page, type: 'group', kind: 'group-member' }),
  ],
  ['tokens of aliases', /token_alias/, (db) => listTokensOfAliases(db, named, few)],
  ['tokens of a mount', /token/, (db) => listTokensOfMount(db, { mount_id: 'm_1', limit: 10 })],
  [
    'leases of a mount that moves',
    /lease/,
    (db) => listUnexpiredOfMount(db, 'm_1', { now: 1, limit: 10 }),
  ],
  [
    'leases of sources',
    /lease_source/,
    (db) => listLeasesOfSources(db, ids, { now: 1, limit: 10 }),
  ],
  ['what sources left', /source/, (db) => listInjectedOfSources(db, ['s_1'], 10)],
];

export const removalWritesOf = async (ids: readonly string[]): Promise<Case[]> => [
  ['scopes that go', /resource_scope/, removeResources({ scope_ids: SCOPES }, 1)],
  ['the tokens of scopes that go', /resource_scope/, [revokeTokensIn(SCOPES)]],
  ['log-ins by a method', /link_to/, await endLogIns(clock, { auth_method_id: 'am_1' })],
  ['a resource and what it holds', /resource_1 \(id=/, removeResources({ id: 'id-3' }, 1)],
  ['some resources', /resource_1 \(id=/, removeResources({ ids }, 1)],
  ['what sources made', /lease_source/, endOfSources({ ids }, 1)],
  [
    'what some sources left',
    /source/,
    [deleteInjectedUpTo(ids, { source_id: 'id-1', session_id: 'id-1' })],
  ],
  ['accounts of a user', /resource_owner/, [clearOwner('u_1')]],
  ['leases of a mount', /lease/, [expireLeasesOfMount('m_1', 1)]],
  ['leases of a range', /lease/, [expireRange({ from: 'a', to: 'b' }, 1)]],
  ['leases of aliases', /lease/, [loosenLeases(named)]],
  [
    'aliases of an entity',
    /alias/,
    [takeAliases({ entity_ids: ['e', 'f'] }), deleteAliases({ entity_ids: ['e', 'f'] })],
  ],
  ['a named alias', /alias/, [deleteAliases({ mount_accessor: 'a', name: 'n' })]],
  ['memberships of an entity', /INDEX|PRIMARY/, [deleteMemberships('entity', ['e', 'f'])]],
  ['an entity', /entity/, [takeEntities(['e', 'f']), deleteEntity({ id: 'e', name: 'e' })]],
  ['a token', /token/, [deleteTree('id-1'), ...deleteAlone('id-1'), deleteBare({ id: 'id-1' })]],
  ['tokens by their ids', /token_1 \(id=/, deleteTreesByIds(ids)],
];
