import type { ColumnTypes } from '../columns.ts';
import type { Migration } from '../migration.ts';
import {
  IMAGES,
  OF_MOUNTS,
  OPERATIONS,
  type Rows,
  SUBJECTS,
  triggerName,
} from './0045-config-subjects.ts';

/**
 * On PostgreSQL a trigger that waits for the end of its transaction was kept and called for each of ten
 * thousand rows, to find that the first had counted: longer than it took to write them, and others waited.
 */
export const notedOnce: Migration = {
  number: 66,
  name: 'noted once',
  up: (t) => STATEMENTS[t.engine],
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

function noteSubject(subject: string, rows: Rows): string[] {
  const { table, only, columns } = rows;
  return OPERATIONS.flatMap((operation) => {
    const event = operation === 'update' && columns ? `update of ${columns.join(', ')}` : operation;
    const those = only && IMAGES[operation].map((row) => `${row}.${only[0]} = '${only[1]}'`);
    const first = isFirst(subject, "'yes'");
    const when = those ? `case when ${those.join(' or ')} then ${first} else false end` : first;
    const call = `note_config_subject('${subject}')`;
    return replaceTrigger(triggerName(rows, operation), { table, event, when, call });
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
