import type { Migration } from '../migration.ts';

/** Tidying: how far it has come, and how many revocations there are, which nobody has to count. */
export const tidying: Migration = {
  number: 93,
  name: 'tidying',
  up: (t) => [
    "create index pki_revocation_unassigned on pki_revocation (mount_id, serial) where issuer_id = ''",

    `insert into pki_count (mount_id, name, value)
      select mount_id, 'revocations', count(*) from pki_revocation group by mount_id`,

    `create table pki_tidy (
      mount_id ${t.text} not null primary key,
      auto ${t.text} not null,
      due_at_ms ${t.integer},
      run_id ${t.text} not null,
      state ${t.text} not null,
      request ${t.text} not null,
      counts ${t.text} not null,
      progress ${t.text} not null,
      error ${t.text},
      started_at_ms ${t.integer},
      finished_at_ms ${t.integer},
      last_finished_at_ms ${t.integer} not null
    ${t.table}`,
    'create index pki_tidy_due on pki_tidy (due_at_ms) where due_at_ms is not null',
    `create index pki_tidy_running on pki_tidy (mount_id) where state in ('Running', 'Cancelling')`,
  ],
};
