import type { Migration } from '../migration.ts';

/** Said by what they are not: whoever asks for what they are is led to the index of all statuses. */
const LIVE = "status not in ('canceling', 'terminated')";

/**
 * What ends the sessions of a person, of a log-in or of a mount finds those that go on, however many have ended
 * or are others': a session says whose it is and by which mount they came, and only those that go on are indexed.
 */
export const liveSessions: Migration = {
  number: 59,
  name: 'live sessions',
  up: ({ text }) => [
    `alter table session add column user_id ${text} not null default ''`,
    `alter table session add column auth_mount_id ${text} not null default ''`,
    `update session set user_id = coalesce((select r.owner_id from resource r where r.id = session.id), '')
      where ${LIVE}`,
    `update session set auth_mount_id =
      coalesce((select t.mount_id from token t where t.id = session.token_id), '')
      where token_id <> '' and ${LIVE}`,
    `update session set auth_mount_id = coalesce((select m.id from identity_alias a
      join mount m on m.accessor = a.mount_accessor where a.id = session.alias_id), '')
      where alias_id <> '' and ${LIVE}`,
    'drop index session_token',
    'drop index session_alias',
    `create index session_live_token on session (token_id) where token_id <> '' and ${LIVE}`,
    `create index session_live_alias on session (alias_id) where alias_id <> '' and ${LIVE}`,
    `create index session_live_user on session (user_id) where user_id <> '' and ${LIVE}`,
    `create index session_live_mount on session (auth_mount_id)
      where auth_mount_id <> '' and ${LIVE}`,
  ],
};
