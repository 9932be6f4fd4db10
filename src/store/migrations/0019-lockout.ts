import type { Migration } from '../migration.ts';

/**
 * Failed log-ins know whose they are, so that those who are locked can be listed, and how often
 * the name was unlocked. Those that were counted before are forgotten.
 */
export const lockout: Migration = {
  number: 19,
  name: 'lockout',
  up: (t) => [
    'drop table login_failure',
    `create table login_failure (
      id ${t.text} not null primary key,
      method_id ${t.text} not null,
      name_sealed ${t.bytes} not null,
      failures ${t.integer} not null,
      last_failed_at ${t.integer} not null,
      unlocked ${t.integer} not null
    ${t.table}`,
    'create index login_failure_time on login_failure (last_failed_at)',
  ],
};
