import type { Migration } from '../migration.ts';

/** Tidying: which revocations may go, how far it has come, and how many there are, which nobody has to count. */
export const tidying: Migration = {
  number: 93,
  name: 'tidying',
  up: (t) => [
    // Null where the certificate was gone before this was kept: such a revocation stays.
    `alter table pki_revocation add column not_after ${t.integer}`,
    `update pki_revocation set not_after = (select pki_certificate.not_after from pki_certificate
      where pki_certificate.mount_id = pki_revocation.mount_id
        and pki_certificate.serial = pki_revocation.serial)`,
    'create index pki_revocation_ended on pki_revocation (mount_id, not_after, serial) where not_after is not null',
    "create index pki_revocation_unassigned on pki_revocation (mount_id, serial) where issuer_id = ''",

    // Revocations that ended before the one, of revisions up to the other, are on no CRL any more.
    `alter table pki_revision add column hidden_before ${t.integer} not null default 0`,
    `alter table pki_revision add column hidden_revision ${t.integer} not null default 0`,

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
