import type { Migration } from '../migration.ts';

/** How the root key is guarded, and the keys that it wraps. */
export const seal: Migration = {
  number: 2,
  name: 'seal',
  up: (t) => [
    `create table seal (
      id ${t.integer} not null primary key check (id = 1),
      kind ${t.text} not null,
      shares ${t.integer} not null,
      threshold ${t.integer} not null,
      generation ${t.integer} not null,
      root_key_sealed ${t.bytes} not null,
      recovery_hash_sealed ${t.bytes},
      cluster_id ${t.text} not null,
      cluster_name ${t.text} not null,
      created_at ${t.integer} not null
    ${t.table}`,

    `create table seal_key (
      use ${t.text} not null,
      term ${t.integer} not null,
      key_sealed ${t.bytes} not null,
      created_at ${t.integer} not null,
      primary key (use, term)
    ${t.table}`,
  ],
};
