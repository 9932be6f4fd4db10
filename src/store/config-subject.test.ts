import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { eachEngine, eachPlace } from '../../test/support/engines.ts';
import { backUp } from './backup.ts';
import { findSubjectVersion, listSubjectVersions, SUBJECTS } from './config-subject.ts';
import { restore } from './restore.ts';
import type { Store } from './store.ts';
import type { Write } from './write.ts';

const run = (sql: string): Write => ({ sql, parameters: [] });

async function versionsOf(store: Store): Promise<Record<string, number>> {
  const rows = await store.db.selectFrom('config_subject').selectAll().execute();
  return Object.fromEntries(rows.map(({ subject, version }) => [subject, version]));
}

/** The subjects of which a write set has changed the version. */
async function changedBy(store: Store, ...statements: string[]): Promise<string[]> {
  const before = await versionsOf(store);
  await store.commit(statements.map(run));
  const after = await versionsOf(store);
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => before[name] !== after[name]).sort();
}

const resource = (id: string, type: string): string =>
  `insert into resource (id, type, subtype, scope_id, container_id, owner_id, version, created_ms, updated_ms, body)
     values ('${id}', '${type}', '', 'global', 'global', '', 1, 0, 0, '{}')`;
const link = (kind: string): string =>
  `insert into resource_link (from_id, kind, to_id) values ('r', '${kind}', 'u')`;
const group = (id: string): string =>
  `insert into identity_group (id, name, name_key, version, created_at_ms, updated_at_ms, body)
     values ('${id}', '${id}', '${id}', 1, 0, 0, '{}')`;
const member = (kind: string): string =>
  `insert into identity_group_member (group_id, kind, member_id) values ('g', '${kind}', 'm')`;
const mount = (id: string, type: string): string =>
  `insert into mount (id, kind, path, type, accessor, body)
     values ('${id}', 'secret', '${id}/', '${type}', '${id}', '{}')`;
/** A row of the mount `p`; `'x'` is a byte. */
const OF_PKI: readonly [table: string, subject: string, insert: string][] = [
  ['pki_authority', 'pki/p', "insert into pki_authority values ('p', 1, '', '', 0, 0)"],
  ['pki_config', 'pki/p', "insert into pki_config values ('p', 'crl', '{}')"],
  ['pki_key', 'pki/p', "insert into pki_key values ('p', 'k', '', 'ec', 256, 'x', 'x', null, '')"],
  [
    'pki_issuer',
    'pki/p',
    "insert into pki_issuer values ('p', 'i', '', '', 'x', '{}', null, 0, 0, 0, 0)",
  ],
  [
    'pki_role',
    'pki-roles/p',
    "insert into pki_role (mount_id, name, body) values ('p', 'r', '{}')",
  ],
];
const ROLE = "insert into pki_role (mount_id, name, body) values ('p', 'r', '{}')";

/** A row, what changes it, and the subject that it belongs to, if any. */
const ROWS: [subject: string | undefined, insert: string, update: string, remove: string][] = [
  ['mounts', mount('m', 'kv'), "mount set body = '{ }'", "mount where id = 'm'"],
  [
    'policies',
    "insert into policy values ('n', 'x', 1, 0)",
    "policy set body = 'y' where name = 'n'",
    "policy where name = 'n'",
  ],
  [
    undefined,
    "insert into token_role (name, body) values ('n', '{}')",
    "token_role set body = '{ }'",
    'token_role',
  ],
  ['identity/group-tree', group('g2'), "identity_group set id = 'g3' where id = 'g2'", '-'],
  [undefined, "update identity_group set body = '{ }'", "identity_group set name = 'n'", '-'],
  [
    'identity/group-tree',
    member('group'),
    "identity_group_member set member_id = 'n'",
    "identity_group_member where kind = 'group'",
  ],
  [
    undefined,
    member('entity'),
    "identity_group_member set member_id = 'n'",
    "identity_group_member where kind = 'entity'",
  ],
  ...(['scope', 'role', 'worker'] as const).map((type): [string, string, string, string] => [
    `broker/${type}s`,
    resource('x', type),
    "resource set name = 'n' where id = 'x'",
    "resource where id = 'x'",
  ]),
  [
    undefined,
    resource('x', 'roles'),
    "resource set name = 'n' where id = 'x'",
    "resource where id = 'x'",
  ],
  ...['role-principal', 'group-member'].map((kind): [string, string, string, string] => [
    `broker/${kind}s`,
    link(kind),
    `resource_link set to_id = 'r' where kind = '${kind}'`,
    `resource_link where kind = '${kind}'`,
  ]),
  [
    undefined,
    link('host-set-host'),
    "resource_link set to_id = 'r' where kind = 'host-set-host'",
    "resource_link where kind = 'host-set-host'",
  ],
];

async function prepare(store: Store): Promise<void> {
  const statements = [group('g'), resource('r', 'group'), resource('u', 'user'), mount('p', 'pki')];
  await store.commit(statements.map(run));
}

eachEngine('the version of a subject', (open) => {
  test('grows with every change of its rows, however they are changed, and with no other', async () => {
    const store = await open();
    await prepare(store);
    for (const [subject, insert, update, remove] of ROWS) {
      const expected = subject === undefined ? [] : [subject];
      assert.deepEqual(await changedBy(store, insert), expected, insert);
      assert.deepEqual(await changedBy(store, `update ${update}`), expected, update);
      if (remove === '-') continue;
      assert.deepEqual(await changedBy(store, `delete from ${remove}`), expected, remove);
    }
  });

  test("of everybody's roles grows with roles that everybody has, and with nobody else's", async () => {
    const store = await open();
    const roles = ['r', 's', 'z'].map((id) => resource(id, 'role'));
    const users = ['u', 'u_anon', 'u_auth'].map((id) => resource(id, 'user'));
    await store.commit([...roles, ...users].map(run));
    const given = (role: string, user: string, kind = 'role-principal'): string =>
      `insert into resource_link (from_id, kind, to_id) values ('${role}', '${kind}', '${user}')`;
    const change = (role: string): string =>
      `update resource set version = version + 1 where id = '${role}'`;
    const cases: [statement: string, changed: string[]][] = [
      [given('s', 'u'), ['broker/role-principals']],
      [change('s'), ['broker/roles']],
      [given('s', 'u_auth', 'group-member'), ['broker/group-members']],
      [change('s'), ['broker/roles']],
      [given('r', 'u_auth'), ['broker/everybody', 'broker/role-principals']],
      [change('r'), ['broker/everybody', 'broker/roles']],
      [change('s'), ['broker/roles']],
      [given('z', 'u_anon'), ['broker/everybody', 'broker/role-principals']],
      [
        "delete from resource_link where from_id = 'r'",
        ['broker/everybody', 'broker/role-principals'],
      ],
      [change('r'), ['broker/roles']],
      ["delete from resource_link where from_id = 's' and to_id = 'u'", ['broker/role-principals']],
      [
        "delete from resource where id = 'z'",
        ['broker/everybody', 'broker/role-principals', 'broker/roles'],
      ],
    ];
    for (const [statement, changed] of cases) {
      assert.deepEqual(await changedBy(store, statement), changed, statement);
    }
  });

  test('of a mount grows with its issuers, keys and settings, and that of its roles with these', async () => {
    const store = await open();
    await prepare(store);
    await store.commit([run(mount('q', 'pki'))]);
    const bytes = store.engine === 'sqlite' ? "x'00'" : "'\\x00'";
    for (const [table, subject, row] of OF_PKI) {
      const insert = row.replaceAll("'x'", bytes);
      assert.deepEqual(await changedBy(store, insert), [subject], table);
      const update = `update ${table} set mount_id = mount_id`;
      assert.deepEqual(await changedBy(store, update), [subject], table);
      assert.deepEqual(await changedBy(store, `delete from ${table}`), [subject], table);
    }
  });

  test('is there as long as its mount, and what is left of that brings it back by nothing', async () => {
    const store = await open();
    await prepare(store);
    assert.equal(await findSubjectVersion(store.db, 'pki/p'), 1);
    await store.commit([run(ROLE)]);
    await store.commit([run('delete from pki_role'), run("delete from mount where id = 'p'")]);
    assert.equal(await findSubjectVersion(store.db, 'pki/p'), undefined);
    assert.equal(await findSubjectVersion(store.db, 'pki-roles/p'), undefined);
    await store.commit([run(ROLE)]);
    await store.commit([run('delete from pki_role')]);
    assert.equal(await findSubjectVersion(store.db, 'pki-roles/p'), undefined);
    assert.deepEqual(await changedBy(store, mount('s', 'kv')), ['mounts']);
  });

  test('grows with rows that go with others', async () => {
    const store = await open();
    await prepare(store);
    await store.commit([run(link('role-principal')), run(member('group'))]);
    assert.deepEqual(await changedBy(store, "delete from resource where id = 'u'"), [
      'broker/role-principals',
    ]);
    await store.commit([run(group('h')), run(member('group').replace("'g'", "'h'"))]);
    assert.deepEqual(await changedBy(store, "delete from identity_group where id = 'h'"), [
      'identity/group-tree',
    ]);
  });

  test('does not grow by a set that is refused', async () => {
    const store = await open();
    await prepare(store);
    const before = await versionsOf(store);
    const refused = { ...run("delete from policy where name = 'none'"), rows: 1 };
    await assert.rejects(store.commit([run(mount('n', 'pki')), refused]), { kind: 'conflict' });
    const fine = store.commit([run("insert into policy values ('n', 'x', 1, 0)")]);
    await Promise.all([
      fine,
      assert.rejects(store.commit([run(mount('n', 'pki')), refused]), { kind: 'conflict' }),
    ]);
    assert.deepEqual(await versionsOf(store), { ...before, policies: 1 + (before.policies ?? 0) });
  });

  test('is counted for ten thousand rows of one statement about as fast as they are written', async () => {
    const store = await open();
    await prepare(store);
    const began = performance.now();
    const many = `insert into policy (name, body, version, modified_at)
      with recursive n (i) as (select 1 union all select i + 1 from n where i < 10000)
      select 'p' || i, '', 1, 0 from n`;
    assert.deepEqual(await changedBy(store, many), ['policies']);
    // Were each row to pass the versions that the others left, it would take minutes.
    assert.ok(performance.now() - began < 60_000);
  });
});

eachPlace('a restored database', (newPlace, engine) => {
  test('counts its subjects on', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'gatehouse-subjects-'));
    try {
      const place = await newPlace();
      const store = await place.open();
      await prepare(store);
      await store.commit([run(ROLE)]);
      const file = join(directory, 'backup');
      await backUp(place.options(), file, { now: 0, program: '0.0.0' });
      await store.close();
      const nothing = { replace: true, finish: async () => {} };
      for (let round = 0; round < 2; round += 1) {
        await restore(place.options(), file, nothing);
        const restored = await place.open();
        const versions = await listSubjectVersions(restored.db);
        assert.deepEqual([...versions.keys()].sort(), [...SUBJECTS].sort());
        for (const subject of ['pki/p', 'pki-roles/p']) {
          assert.ok(await findSubjectVersion(restored.db, subject), `${engine}: ${subject}`);
        }
        const changed = await changedBy(
          restored,
          "update mount set body = '{ }'",
          'update pki_role set body = body',
        );
        assert.deepEqual(changed, ['mounts', 'pki-roles/p']);
        await restored.close();
      }
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
