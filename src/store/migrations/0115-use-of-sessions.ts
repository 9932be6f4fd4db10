import type { Migration } from '../migration.ts';

/** Said by what they are not, as in the other indexes of sessions that go on. */
const LIVE = "status not in ('canceling', 'terminated')";

/** A session that nobody uses for long is found, however many others there are. */
export const useOfSessions: Migration = {
  number: 115,
  name: 'use of sessions',
  up: ({ integer }) => [
    // Since when it may be unused, as it was last looked at: it may have been used later.
    `alter table session add column used_ms ${integer} not null default 0`,
    // When the last connection was closed that it has had; 0: none was.
    `alter table session add column left_ms ${integer} not null default 0`,
    `update session set used_ms = created_ms, left_ms = coalesce((select max(c.closed_ms)
      from session_connection c where c.session_id = session.id), 0) where ${LIVE}`,
    // Said of a time, too: whoever asks for sessions that go on by anything else is not led here.
    `create index session_live_use on session (used_ms) where used_ms >= 0 and ${LIVE}`,
    `create index session_connection_live on session_connection (session_id) where status <> 'closed'`,
  ],
};
