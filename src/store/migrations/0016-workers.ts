import type { Migration } from '../migration.ts';

/** What workers report, how they are enrolled, and what a server does once in its life. */
export const workers: Migration = {
  number: 16,
  name: 'workers',
  up: (t) => [
    // Apart from the worker's resource: it changes every few seconds, and nobody's version with it.
    `create table worker_status (
      worker_id ${t.text} not null primary key,
      last_status_ms ${t.integer} not null,
      operational_state ${t.text} not null,
      active_connection_count ${t.integer} not null
    ${t.keyed_table}`,

    // The roots that workers are enrolled under: one in use and the one that follows it.
    `create table worker_root (
      use ${t.text} not null primary key,
      certificate ${t.bytes} not null,
      public_key_sha256 ${t.text} not null,
      not_before_ms ${t.integer} not null,
      not_after_ms ${t.integer} not null,
      key_sealed ${t.bytes} not null
    ${t.table}`,

    // Activation tokens of workers that have not come yet, by keyed hash.
    `create table worker_activation (
      token_hmac ${t.text} not null primary key,
      worker_id ${t.text} not null,
      expires_ms ${t.integer} not null
    ${t.keyed_table}`,
    'create index worker_activation_worker on worker_activation (worker_id)',

    // Recovery tokens that were used; kept as long as one could be shown again.
    `create table recovery_nonce (
      nonce ${t.text} not null primary key,
      used_ms ${t.integer} not null
    ${t.keyed_table}`,
    'create index recovery_nonce_used on recovery_nonce (used_ms)',

    // Users who had a session in a month; sessions are forgotten sooner than they are counted.
    `create table active_user (
      month ${t.text} not null,
      user_id ${t.text} not null,
      primary key (month, user_id)
    ${t.keyed_table}`,

    // The seed of a development server, and with which settings it was made.
    `create table broker_seed (
      id ${t.integer} not null primary key,
      made_ms ${t.integer} not null,
      body ${t.text} not null
    ${t.table}`,
  ],
};
