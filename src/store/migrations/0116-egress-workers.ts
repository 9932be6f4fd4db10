import type { Migration } from '../migration.ts';

/** A connection says which worker has brought its endpoint: it is over when that is not known any more. */
export const egressWorkers: Migration = {
  number: 116,
  name: 'egress-workers',
  up: (t) => [
    `alter table session_connection add column egress_worker_id ${t.text} not null default ''`,
    "create index session_connection_egress on session_connection (egress_worker_id, worker_id) where status <> 'closed' and egress_worker_id <> ''",
  ],
};
