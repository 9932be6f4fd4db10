import type { Migration } from '../migration.ts';

/** Sessions whose clients come to another worker than the one that reaches the endpoint. */
export const hops: Migration = {
  number: 113,
  name: 'hops',
  up: (t) => [
    `alter table session add column ingress_worker_filter ${t.text} not null default ''`,
    // What a server has asked of a worker whose connection another server holds.
    `create table worker_errand (
      id ${t.text} not null primary key,
      worker_id ${t.text} not null,
      errand_sealed ${t.bytes} not null,
      is_taken ${t.integer} not null,
      answer ${t.text} not null,
      expires_ms ${t.integer} not null
    ${t.keyed_table}`,
  ],
};
