// What is read a page at a time is found by an index, in the order in which it is wanted: a page
// costs the same wherever it lies and however many there are.

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import {
  deleteExpiredSecretIds,
  deleteSecretIdsOfRole,
  listExpiredSecretIds,
  listSecretIds,
} from '../src/access/approle/store.ts';
import { aliasIds } from '../src/access/identity/aliases/store.ts';
import { listGroupMemberships } from '../src/access/identity/memberships/store.ts';
import {
  countLeases,
  expireLeases,
  listExpired,
  listIdsInRange,
  listRange,
  listUnbound,
} from '../src/access/leases/store.ts';
import { removePage } from '../src/access/tokens/ending/store.ts';
import { deleteLogIns } from '../src/access/tokens/store.ts';
import { endLogIns } from '../src/broker/auth-tokens/operations.ts';
import { listLogIns, usersNamed } from '../src/broker/auth-tokens/store.ts';
import { listGroupsOf, listRolesOf } from '../src/broker/authority/roles/store.ts';
import { countActiveUsers } from '../src/broker/billing/store.ts';
import { listInContainers, listOwnedIn } from '../src/broker/lists/store.ts';
import type { Window } from '../src/broker/lists/window.ts';
import {
  holdGroupsOf,
  holdMembers,
  holdNumberOf,
  holdPrincipals,
} from '../src/broker/org-bounds/store.ts';
import { holdResources } from '../src/broker/resources/holds/store.ts';
import { holdRoom } from '../src/broker/roles/store.ts';
import {
  deleteExpiredInjected,
  listExpiredInjected,
} from '../src/broker/session-credentials/store.ts';
import {
  cancelAffected,
  type Loss,
  listLive,
  listSessionsOf,
} from '../src/broker/sessions/ending/store.ts';
import { deleteSessions, terminate } from '../src/broker/sessions/store.ts';
import { loosenEntities } from '../src/broker/users/store.ts';
import { deleteRemains, LEASES, listRemains, REMAINS } from '../src/mounts/remains/store.ts';
import { listCertificates } from '../src/pki/certificates/search/store.ts';
import { listSerials } from '../src/pki/certificates/store.ts';
import { listRoleNames } from '../src/pki/roles/store.ts';
import { createDb, type Db } from '../src/store/database.ts';
import { withoutLocks } from '../src/store/holding.ts';
import { numberParameters } from '../src/store/sqlite-reader.ts';
import type { Effect, Value, Write } from '../src/store/write.ts';
import { sqlitePlace } from './support/engines.ts';

const place = sqlitePlace();
const store = await place.open();
assert.equal(store.place.engine, 'sqlite');
const file = store.place.engine === 'sqlite' ? store.place.file : '';
const database = new DatabaseSync(file, { readOnly: true });
after(async () => {
  database.close();
  await place.remove();
});

/** A row for whoever reads on after one. */
const ROW = { id: 'x', serial: 'a', not_after: 5, status: 'pending', data: '{}', body: '{}' };

/** A database that answers nothing of its own, and notes how SQLite would find it. */
function noting(): { db: Db; plans: string[]; statements: string[] } {
  const plans: string[] = [];
  const statements: string[] = [];
  const all = async (text: string, parameters: readonly Value[]): Promise<unknown[]> => {
    const explain = database.prepare(`explain query plan ${numberParameters(text)}`);
    plans.push(...explain.all(...parameters).map(({ detail }) => String(detail)));
    return statements.push(text) > 2 ? [] : [ROW];
  };
  const first = async (text: string, parameters: readonly Value[]): Promise<unknown> =>
    (await all(text, parameters))[0];
  const some = async (text: string, parameters: readonly Value[]) => {
    return { rows: await all(text, parameters), bytes: 0, more: false };
  };
  return { db: createDb({ all, first, some, close: async () => {} }), plans, statements };
}

const page = { after: 'b', limit: 10 };
/** As many as one write set is about. */
const IDS = Array.from({ length: 500 }, (_, at) => `id-${at}`);
const KEYS = IDS.map((id) => [id]);
const SECRET_IDS = REMAINS.filter(([table]) => table === 'approle_secret_id');
const named = aliasIds({ mount_accessor: 'a', name: 'n' });
const range = { from: 'a', to: 'c' };
const role = { mount_id: 'm', name: 'r' };
const search = { now: 1, limit: 1, after: { not_after: 3, serial: 'x' } };
const windowOf = (order: Window['order']): Window => {
  return { type: 'session', order, before: { ms: 9, id: 'x' }, after_ms: 1, limit: 10 };
};

const READS: [name: string, index: RegExp, read: (db: Db) => Promise<unknown>][] = [
  ['leases beneath a prefix', /lease_1 \(id>/, (db) => listRange(db, range, page)],
  [
    'ids of leases beneath a prefix',
    /lease_1 \(id>/,
    (db) => listIdsInRange(db, range, { ...page, now: 1 }),
  ],
  ['the number of leases', /lease_1 \(id>\? AND id</, (db) => countLeases(db, 1)],
  ['leases without their token', /lease_unbound/, (db) => listUnbound(db, page)],
  [
    'leases that have run out',
    /lease_expiry/,
    (db) => listExpired(db, 9, { after: { expires_at: 1, id: 'x' }, limit: 10 }),
  ],
  ['serial numbers', /serial>/, (db) => listSerials(db, 'm', page)],
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
    'certificates with a name',
    /reversed>/,
    (db) => listCertificates(db, 'm', { ...search, name: '*.test', expires_after: 7 }),
  ],
  ['names of roles', /name>/, (db) => listRoleNames(db, 'm', page)],
  ['secret IDs', /secret_id_page/, (db) => listSecretIds(db, role, page)],
  ['secret IDs that have run out', /id_expiry/, (db) => listExpiredSecretIds(db, 9, 10)],
  ['log-ins, the oldest first', /type_created/, (db) => listLogIns(db, { ms: 1, id: 'x' }, 10)],
  ['groups in groups', /member_groups/, (db) => listGroupMemberships(db)],
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
    (db) => listSessionsOf(db, { token_ids: IDS }, 10),
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
    (db) => listSessionsOf(db, { of_entity: 'e' }, 10),
  ],
  [
    'live sessions of whom aliases name',
    /session_live_user/,
    (db) => listSessionsOf(db, { of_named: named }, 10),
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
    'what a container holds',
    /resource_created/,
    (db) => listInContainers(db, ['p'], windowOf('created_ms'), { walk: false }),
  ],
];

for (const [name, index, read] of READS) {
  test(`an index finds a page of ${name}, in its order`, async () => {
    const { db, plans, statements } = noting();
    await read(db);
    assert.match(plans.join('\n'), index);
    for (const plan of plans) assert.doesNotMatch(plan, /^SCAN (?!\d)|FOR ORDER BY/);
    for (const statement of statements) {
      // Of two bounds from below SQLite begins at the first, and steps over all in between.
      const bounds = [...statement.matchAll(/(?:where|and) ("\w+") >=? /g)].map(([, one]) => one);
      assert.equal(new Set(bounds).size, bounds.length, statement);
    }
  });
}

// Those that are paged by their mount have one row of it.
for (const place of REMAINS.filter(([, { keys }]) => keys[0] !== 'mount_id')) {
  test(`a page of what a mount left in ${place[0]} sorts no more than the page`, async () => {
    const { db, plans } = noting();
    await listRemains(db, 'm', place, 10);
    assert.match(plans.join('\n'), /SEARCH .*mount_id=/);
    const page = plans.indexOf('SCAN page');
    const within = page < 0 ? plans : plans.slice(0, page);
    for (const step of within) assert.doesNotMatch(step, /TEMP B-TREE/);
  });
}

const clock = { now: () => 1 };
const losing = (loss: Loss): Write[] => cancelAffected(loss, 1);

/** What is found by its ids, or by those of what ends, is not looked for among all that are kept. */
/** Without the version, of which there is one. */
const questions = (writes: readonly Write[]): readonly Write[] => writes.slice(1);
const org = { id: 'o', type: 'org', parent_scope_id: 'global' } as const;

const WRITES: [what: string, index: RegExp, writes: readonly Effect[]][] = [
  ['sessions through hosts', /session_of_host/, losing({ host_ids: IDS })],
  ['sessions through host sets', /session_of_set/, losing({ of_host_sets: IDS })],
  [
    'sessions through hosts of a set',
    /session_of_host/,
    losing({ host_set_id_of: 's', host_ids: IDS }),
  ],
  ['sessions through a catalog', /session_of_host/, losing({ host_catalog_id: 'c' })],
  ['sessions to a target', /session_of_target/, losing({ target_id: 't' })],
  ['sessions of log-ins', /session_auth_token/, losing({ log_ins: { ids: IDS } })],
  ['live sessions of tokens', /session_live_token/, losing({ token_ids: IDS, ended_by: 0 })],
  ['live sessions of log-ins without tokens', /session_live_alias/, losing({ alias_ids: named })],
  ['live sessions by a mount', /session_live_mount/, losing({ auth_mount: { id: 'm' } })],
  ['live sessions of a person', /session_live_user/, losing({ of_entity: 'e' })],
  ['live sessions of whom aliases name', /session_live_user/, losing({ of_named: named })],
  ['sessions of a scope', /session_auth_token/, losing({ scope_ids: ['o'] })],
  ['sessions of users', /resource_owner/, losing({ user_ids: IDS })],
  ['sessions that have ended', /session_1 \(id=/, losing({ ended_among: IDS })],
  ['sessions that end', /session_1 \(id=/, terminate(IDS, 1)],
  ['sessions that are forgotten', /session_1 \(id=/, deleteSessions(IDS)],
  ['log-ins', /resource_1 \(id=/, await endLogIns(clock, { ids: IDS })],
  ['log-ins of tokens', /resource_key/, await endLogIns(clock, { token_ids: IDS, ended_by: 0 })],
  ['log-ins of users', /resource_owner/, await endLogIns(clock, { user_ids: IDS })],
  ['log-ins of a person', /resource_owner/, await endLogIns(clock, { entity_id: 'e' })],
  ['log-ins of whom aliases name', /resource_owner/, await endLogIns(clock, { alias_ids: named })],
  ['log-ins by accounts', /resource_link_to/, await endLogIns(clock, { account_ids: IDS })],
  ['users of aliases', /resource_1 \(id=/, [loosenEntities(usersNamed(named))]],
  ['accounts of nobody', /resource_1 \(id=/, holdResources(IDS, '')],
  [
    'secret IDs of a role',
    /id_1 \(id=/,
    [deleteSecretIdsOfRole({ mount_id: 'm', name: 'r' }, IDS)],
  ],
  ['secret IDs that have run out', /id_1 \(id=/, [deleteExpiredSecretIds(IDS, 1)]],
  ['roles of an org', /room USING PRIMARY KEY \(org_id=/, questions(holdNumberOf('role', org))],
  [
    'grants of an org',
    /room USING PRIMARY KEY \(org_id=/,
    questions(holdRoom({ scope_id: 'o', org_id: 'o' })),
  ],
  ['members of groups of an org', /PRIMARY KEY \(org_id=/, questions(holdMembers(org))],
  ['principals of roles of an org', /PRIMARY KEY \(org_id=/, questions(holdPrincipals(org))],
  ['groups of users in an org', /link_to \(to_id=\? AND kind=/, questions(holdGroupsOf(IDS, org))],
  ['leases', /lease_1 \(id=/, [expireLeases(IDS, 1)]],
  ['what workers were given', /session_id=/, [deleteExpiredInjected(IDS, 1)]],
  ['tokens by aliases', /token_alias/, [deleteLogIns(named)]],
  ['leases that a mount left', /lease_1 \(id=/, [deleteRemains('m', LEASES, KEYS)]],
  [
    'secret IDs that a mount left',
    /id_1 \(id=/,
    SECRET_IDS.map((place) => deleteRemains('m', place, KEYS)),
  ],
  ['dead tokens', /token_1 \(id=/, removePage({ ids: IDS, now: 1, limit: 500 })],
];

/** Of these there are few. */
const FEW = /USING COVERING INDEX resource_type_updated \(type=\?\)$/;

for (const [what, index, effects] of WRITES) {
  test(`indexes find ${what}, among all that are kept`, () => {
    const plans: string[] = [];
    for (const effect of effects) {
      assert.ok('sql' in effect);
      const { sql, parameters } = effect;
      const explain = database.prepare(`explain query plan ${numberParameters(withoutLocks(sql))}`);
      // The ways to log in, which are asked for to tell users from others, are few.
      const steps = explain.all(...parameters).map(({ detail }) => String(detail));
      const ways = parameters.filter((one) => one === 'auth-method').length;
      const wide = steps.filter((step) => /\(type=\?\)$/.test(step));
      assert.ok(wide.length <= ways && wide.every((step) => FEW.test(step)), `${sql}\n${wide}`);
      for (const step of steps)
        assert.doesNotMatch(step, /^SCAN (?!\d|taken|line|some|sizes|sums)/, sql);
      for (const step of steps)
        assert.doesNotMatch(step, /\((status|mount_id|owner_id)=\?( AND role=\?)?\)$/, sql);
      plans.push(...steps);
    }
    assert.match(plans.join('\n'), index);
  });
}
