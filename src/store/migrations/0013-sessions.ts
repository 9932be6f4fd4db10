import type { Migration } from '../migration.ts';

/** Sessions: what must be exact about them under races, and their connections. */
export const sessions: Migration = {
  number: 13,
  name: 'sessions',
  up: (t) => [
    // Beside each row of type session in `resource`. It outlives that row when a whole project
    // is removed, until its connections have been cut.
    `create table session (
      id ${t.text} not null primary key,
      target_id ${t.text} not null,
      host_set_id ${t.text} not null,
      host_id ${t.text} not null,
      auth_token_id ${t.text} not null,
      status ${t.text} not null,
      endpoint ${t.text} not null,
      connection_limit ${t.integer} not null,
      expires_ms ${t.integer} not null,
      worker_filter ${t.text} not null,
      certificate ${t.bytes} not null,
      private_key_sealed ${t.bytes},
      tofu_sealed ${t.bytes},
      created_ms ${t.integer} not null,
      active_ms ${t.integer},
      canceling_ms ${t.integer},
      terminated_ms ${t.integer},
      termination_reason ${t.text} not null,
      connections ${t.integer} not null,
      open_connections ${t.integer} not null,
      due_ms ${t.integer} not null
    ${t.table}`,
    'create index session_due on session (due_ms)',
    'create index session_target on session (target_id)',
    'create index session_auth_token on session (auth_token_id)',
    "create index session_host on session (host_id) where host_id <> ''",

    `create table session_connection (
      id ${t.text} not null primary key,
      session_id ${t.text} not null,
      worker_id ${t.text} not null,
      status ${t.text} not null,
      created_ms ${t.integer} not null,
      connected_ms ${t.integer},
      closed_ms ${t.integer},
      updated_ms ${t.integer} not null,
      client_tcp_address ${t.text} not null,
      client_tcp_port ${t.integer} not null,
      endpoint_tcp_address ${t.text} not null,
      endpoint_tcp_port ${t.integer} not null,
      bytes_up ${t.integer} not null,
      bytes_down ${t.integer} not null,
      closed_reason ${t.text} not null
    ${t.table}`,
    'create index session_connection_of on session_connection (session_id, created_ms, id)',
    "create index session_connection_open on session_connection (worker_id) where status <> 'closed'",
  ],
};
