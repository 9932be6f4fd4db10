import type { ColumnTypes } from '../columns.ts';
import type { Migration } from '../migration.ts';

/** Rows of which each changes one subject, and which may be written by the ten thousand. */
interface Rows {
  table: string;
  /** Those that say so. */
  only?: readonly [column: string, value: string];
  /** What nobody reads may change. */
  columns?: string;
}

const SUBJECTS: readonly [subject: string, rows: Rows][] = [
  ['mounts', { table: 'mount' }],
  ['policies', { table: 'policy' }],
  ['identity/group-tree', { table: 'identity_group', columns: 'id' }],
  ['identity/group-tree', { table: 'identity_group_member', only: ['kind', 'group'] }],
  ['broker/scopes', { table: 'resource', only: ['type', 'scope'] }],
  ['broker/roles', { table: 'resource', only: ['type', 'role'] }],
  ['broker/role-principals', { table: 'resource_link', only: ['kind', 'role-principal'] }],
  ['broker/group-members', { table: 'resource_link', only: ['kind', 'group-member'] }],
  ['broker/workers', { table: 'resource', only: ['type', 'worker'] }],
];

/** Each mount of the authority is a subject, and so are its roles: its id follows. */
const OF_MOUNTS: readonly [prefix: string, tables: readonly string[]][] = [
  ['pki/', ['pki_authority', 'pki_config', 'pki_key', 'pki_issuer']],
  ['pki-roles/', ['pki_role']],
];

/**
 * On PostgreSQL a trigger that waits for the end of its transaction was kept and called for each of ten
 * thousand rows, to find that the first had counted: longer than it took to write them, and others waited.
 */
export const notedOnce: Migration = {
  number: 66,
  name: 'noted once',
  up: (t) => STATEMENTS[t.engine],
};

type Operation = 'insert' | 'update' | 'delete';
type Image = 'old' | 'new';

const IMAGES: Readonly<Record<Operation, readonly Image[]>> = {
  insert: ['new'],
  update: ['old', 'new'],
  delete: ['old'],
};

/**
 * Whether a transaction has not noted this yet, which it has from now on. The setting is forgotten with
 * the transaction, or with the savepoint by which what was noted is given up.
 */
function isFirst(subject: string, value: string): string {
  const name = `'gatehouse.noted_${subject.replace(/[^a-z]+/g, '_')}'`;
  return `case when coalesce(current_setting(${name}, true), '') = ${value} then false
    else set_config(${name}, ${value}, true) is not null end`;
}

function noteSubject(subject: string, { table, only, columns }: Rows): string[] {
  const name = `note_${table}${only ? `_${only[1].replace('-', '_')}` : ''}`;
  return (['insert', 'update', 'delete'] as const).flatMap((operation) => {
    const event = operation === 'update' && columns ? `update of ${columns}` : operation;
    const rows = only && IMAGES[operation].map((row) => `${row}.${only[0]} = '${only[1]}'`);
    const first = isFirst(subject, "'yes'");
    const when = rows ? `case when ${rows.join(' or ')} then ${first} else false end` : first;
    const call = `note_config_subject('${subject}')`;
    return replaceTrigger(`${name}_${operation}`, { table, event, when, call });
  });
}

/** A row stays in its mount, and rows of many mounts are written by nobody at once. */
function noteMount(prefix: string, table: string): string[] {
  return (['insert', 'delete'] as const).flatMap((operation) => {
    const when = isFirst(prefix, `${IMAGES[operation]}.mount_id`);
    const call = `note_config_subject_of_mount('${prefix}')`;
    return replaceTrigger(`note_${table}_${operation}`, { table, event: operation, when, call });
  });
}

function replaceTrigger(
  name: string,
  { table, event, when, call }: { table: string; event: string; when: string; call: string },
): string[] {
  return [
    `drop trigger ${name} on ${table}`,
    `create constraint trigger ${name} after ${event} on ${table} deferrable initially deferred
      for each row when (${when}) execute function ${call}`,
  ];
}

const STATEMENTS: Readonly<Record<ColumnTypes['engine'], string[]>> = {
  sqlite: [],
  postgres: [
    ...SUBJECTS.flatMap(([subject, rows]) => noteSubject(subject, rows)),
    ...OF_MOUNTS.flatMap(([prefix, tables]) => tables.flatMap((table) => noteMount(prefix, table))),
  ],
};
