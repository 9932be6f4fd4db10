import type { Migration } from '../migration.ts';

/** What hangs on tokens: leases, wrapped answers and each token's own storage. */
export const leases: Migration = {
  number: 8,
  name: 'leases',
  up: (t) => [
    // A lease outlives its token by as long as it takes to revoke what it stands for; that it
    // has lost its token (`bound`, and no `token_id`) says that this is due. The foreign key
    // makes that exact: no lease is born of a token that is being revoked.
    `create table lease (
      id ${t.text} not null primary key,
      bound ${t.integer} not null,
      token_id ${t.text} references token (id) on delete set null,
      mount_id ${t.text} not null,
      kind ${t.text} not null,
      data ${t.text} not null,
      issued_at ${t.integer} not null,
      expires_at ${t.integer} not null,
      renewable ${t.integer} not null,
      renewed_at ${t.integer}
    ${t.table}`,
    'create index lease_token on lease (token_id) where token_id is not null',
    'create index lease_expiry on lease (expires_at, id)',
    'create index lease_unbound on lease (id) where bound = 1 and token_id is null',
    'create index lease_mount on lease (mount_id)',

    `create table wrapped_answer (
      token_id ${t.text} not null primary key references token (id) on delete cascade,
      creation_path ${t.text} not null,
      created_at_ms ${t.integer} not null,
      ttl ${t.integer} not null,
      wrapped_accessor ${t.text} not null,
      answer_sealed ${t.bytes} not null
    ${t.table}`,

    `create table cubbyhole (
      token_id ${t.text} not null references token (id) on delete cascade,
      path ${t.text} not null,
      value_sealed ${t.bytes} not null,
      primary key (token_id, path)
    ${t.table}`,

    // Mounts that are gone while rows of theirs may still be there.
    `create table removed_mount (
      id ${t.text} not null primary key,
      removed_at ${t.integer} not null
    ${t.keyed_table}`,
  ],
};
