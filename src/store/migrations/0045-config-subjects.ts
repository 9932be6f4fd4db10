import type { ColumnTypes } from '../columns.ts';
import type { Migration } from '../migration.ts';

/** The rows that a subject of the configuration is read from, all of a table or some. */
export interface Rows {
  table: string;
  /** Those that say so. */
  only?: readonly [column: string, value: string];
  /** What nobody reads may change. */
  columns?: readonly string[];
}

export const SUBJECTS: readonly [subject: string, rows: Rows][] = [
  ['mounts', { table: 'mount' }],
  ['policies', { table: 'policy' }],
  ['identity/group-tree', { table: 'identity_group', columns: ['id'] }],
  ['identity/group-tree', { table: 'identity_group_member', only: ['kind', 'group'] }],
  ['broker/scopes', { table: 'resource', only: ['type', 'scope'] }],
  ['broker/roles', { table: 'resource', only: ['type', 'role'] }],
  ['broker/role-principals', { table: 'resource_link', only: ['kind', 'role-principal'] }],
  ['broker/group-members', { table: 'resource_link', only: ['kind', 'group-member'] }],
  ['broker/workers', { table: 'resource', only: ['type', 'worker'] }],
];

/** Each mount of the authority is a subject, and so are its roles: its id follows. */
export const OF_MOUNTS: readonly [prefix: string, tables: readonly string[]][] = [
  ['pki/', ['pki_authority', 'pki_config', 'pki_key', 'pki_issuer']],
  ['pki-roles/', ['pki_role']],
];

/**
 * A version for each subject of the configuration. Triggers count it, so that no write set can change
 * the rows and forget the version.
 */
export const configSubjects: Migration = {
  number: 45,
  name: 'config subjects',
  up: (t) => [
    ...makeTable(t),
    ...(t.engine === 'postgres' ? FUNCTIONS : []),
    ...SUBJECTS.flatMap(([subject, rows]) => noteChanges(t, rows, `'${subject}'`)),
    ...OF_MOUNTS.flatMap(([prefix, tables]) =>
      tables.flatMap((table) => noteChanges(t, { table }, `'${prefix}'`, 'mount_id')),
    ),
    ...followMounts(t),
  ],
};

function makeTable(t: ColumnTypes): string[] {
  const values = [...new Set(SUBJECTS.map(([subject]) => subject))].map((name) => `('${name}', 1)`);
  return [
    `create table config_subject (
      subject ${t.text} not null primary key,
      version ${t.integer} not null
    ${t.keyed_table}`,
    // Of a thousand rows that a transaction changes, the first counts: see the function.
    ...(t.engine === 'postgres'
      ? ['alter table config_subject add column changed_in bigint not null default 0']
      : []),
    `insert into config_subject (subject, version) values ${values.join(', ')}`,
    ...OF_MOUNTS.map(
      ([prefix]) =>
        `insert into config_subject (subject, version) select '${prefix}' || id, 1 from mount where type = 'pki'`,
    ),
  ];
}

export const OPERATIONS = ['insert', 'update', 'delete'] as const;
export type Operation = (typeof OPERATIONS)[number];

export const IMAGES: Readonly<Record<Operation, readonly ('old' | 'new')[]>> = {
  insert: ['new'],
  update: ['old', 'new'],
  delete: ['old'],
};

export const triggerName = ({ table, only }: Rows, operation: Operation): string =>
  `note_${table}${only ? `_${only[1].replace('-', '_')}` : ''}_${operation}`;

/** @param column whose value ends the subject's name */
function noteChanges(t: ColumnTypes, rows: Rows, subject: string, column?: string): string[] {
  const { table, only, columns } = rows;
  return OPERATIONS.map((operation) => {
    const images = IMAGES[operation];
    const of = operation === 'update' && columns ? ` of ${columns.join(', ')}` : '';
    const when = only && images.map((row) => `${row}.${only[0]} = '${only[1]}'`).join(' or ');
    const names = images.map((row) => (column ? `${subject} || ${row}.${column}` : subject));
    return makeTrigger(t, {
      name: triggerName(rows, operation),
      event: `${operation}${of} on ${table}`,
      when,
      statements: [
        `update config_subject set version = version + 1 where subject in (${names.join(', ')})`,
      ],
      call: `note_config_subject${column ? '_of_mount' : ''}(${subject})`,
    });
  });
}

/** The subjects of a mount are there as long as the mount: what is left of its rows counts nothing. */
function followMounts(t: ColumnTypes): string[] {
  const names = (row: string): string[] => OF_MOUNTS.map(([prefix]) => `'${prefix}' || ${row}.id`);
  return [
    makeTrigger(t, {
      name: 'note_mount_made',
      event: 'insert on mount',
      when: "new.type = 'pki'",
      statements: names('new').map(
        (name) =>
          `insert into config_subject (subject, version) values (${name}, 1) on conflict do nothing`,
      ),
      call: 'note_mount_made()',
    }),
    makeTrigger(t, {
      name: 'note_mount_removed',
      event: 'delete on mount',
      when: "old.type = 'pki'",
      statements: [`delete from config_subject where subject in (${names('old').join(', ')})`],
      call: 'note_mount_removed()',
    }),
  ];
}

interface Trigger {
  name: string;
  event: string;
  when: string | undefined;
  /** SQLite's. */
  statements: readonly string[];
  /** The function of PostgreSQL that does the same. */
  call: string;
}

/**
 * On PostgreSQL they run when the transaction commits. It holds the row of `config_version` by then, so
 * that two nodes never wait for each other's subjects in a circle.
 */
function makeTrigger(t: ColumnTypes, { name, event, when, statements, call }: Trigger): string {
  const condition = when === undefined ? '' : ` when (${when})`;
  return t.engine === 'sqlite'
    ? `create trigger ${name} after ${event} for each row${condition} begin ${statements.join('; ')}; end`
    : `create constraint trigger ${name} after ${event} deferrable initially deferred for each row${condition} execute function ${call}`;
}

const define = (name: string, body: string): string =>
  // A restored database brings no functions with it, and drops none.
  `create or replace function ${name}() returns trigger language plpgsql as $$ begin ${body} return null; end $$`;

/**
 * Counting each of a thousand rows would leave a thousand versions of the subject's row, each of which the
 * next has to pass. The number alone does not say that it was this transaction: another server's, from
 * which the row was copied, may have had the same.
 */
const COUNT = `update config_subject set version = version + 1, changed_in = txid_current()
  where not (changed_in = txid_current() and xmin = pg_current_xact_id()::xid) and subject`;

const FUNCTIONS: readonly string[] = [
  define('note_config_subject', `${COUNT} = tg_argv[0];`),
  define(
    'note_config_subject_of_mount',
    `if tg_op <> 'INSERT' then ${COUNT} = tg_argv[0] || old.mount_id; end if;
     if tg_op <> 'DELETE' then ${COUNT} = tg_argv[0] || new.mount_id; end if;`,
  ),
  define(
    'note_mount_made',
    `insert into config_subject (subject, version) values ${OF_MOUNTS.map(([prefix]) => `('${prefix}' || new.id, 1)`).join(', ')} on conflict do nothing;`,
  ),
  define(
    'note_mount_removed',
    `delete from config_subject where subject in (${OF_MOUNTS.map(([prefix]) => `'${prefix}' || old.id`).join(', ')});`,
  ),
];
