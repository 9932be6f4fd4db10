import type { Migration } from '../migration.ts';

/** Workers that stand alone: the keys that they prove themselves by. */
export const workersAlone: Migration = {
  number: 112,
  name: 'workers-alone',
  up: (t) => [
    // A worker has one, and while it is renewed two.
    `create table worker_key (
      key_sha256 ${t.text} not null primary key,
      worker_id ${t.text} not null,
      not_after_ms ${t.integer} not null
    ${t.keyed_table}`,
    'create index worker_key_worker on worker_key (worker_id)',
    // What a worker that made its own token is expected with: its key, and the secret of the token.
    `alter table worker_activation add column secret_sealed ${t.bytes}`,
  ],
};
