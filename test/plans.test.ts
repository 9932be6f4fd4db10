// What is read a page at a time is found by an index, in the order in which it is wanted: a page
// costs the same wherever it lies and however many there are.

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { listExpiredSecretIds, listSecretIds } from '../src/access/approle/store.ts';
import {
  countLeases,
  listExpired,
  listIdsInRange,
  listRange,
  listUnbound,
} from '../src/access/leases/store.ts';
import { listLogIns } from '../src/broker/auth-tokens/store.ts';
import { listGroupsOf, listRolesOf } from '../src/broker/authority/roles/store.ts';
import { listInContainers, listOwnedIn, type Window } from '../src/broker/lists/store.ts';
import { listLive } from '../src/broker/sessions/ending/store.ts';
import { listCertificates } from '../src/pki/certificates/search/store.ts';
import { listSerials } from '../src/pki/certificates/store.ts';
import { listRoleNames } from '../src/pki/roles/store.ts';
import { createDb, type Db } from '../src/store/database.ts';
import { numberParameters } from '../src/store/sqlite-reader.ts';
import type { Value } from '../src/store/write.ts';
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
