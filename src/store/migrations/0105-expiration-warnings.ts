import type { Migration } from '../migration.ts';

/** Who is warned before certificates of a mount end, how far that has got, and what is on its way. */
export const expirationWarnings: Migration = {
  number: 105,
  name: 'expiration warnings',
  up: (t) => [
    `create table pki_expiration_warning (
      mount_id ${t.text} not null primary key,
      version ${t.integer} not null,
      enabled ${t.integer} not null,
      body ${t.text} not null,
      webhook_secret_sealed ${t.bytes}
    ${t.keyed_table}`,
    // All that ends up to there was looked at, for each way of telling and each time ahead.
    `create table pki_expiration_cursor (
      mount_id ${t.text} not null,
      channel ${t.text} not null,
      ahead ${t.integer} not null,
      not_after ${t.integer} not null,
      serial ${t.text} not null,
      issuer_not_after ${t.integer} not null,
      issuer_id ${t.text} not null,
      primary key (mount_id, channel, ahead)
    ${t.keyed_table}`,
    `create table pki_expiration_message (
      mount_id ${t.text} not null,
      channel ${t.text} not null,
      id ${t.text} not null,
      created_at_ms ${t.integer} not null,
      attempts ${t.integer} not null,
      next_at_ms ${t.integer} not null,
      certificates ${t.integer} not null,
      body ${t.text} not null,
      primary key (mount_id, channel, id)
    ${t.table}`,
    // The next message is found without reading others, which are long.
    `create index pki_expiration_message_order
      on pki_expiration_message (mount_id, channel, created_at_ms, id)`,
    `create index pki_expiration_message_due
      on pki_expiration_message (next_at_ms, mount_id, channel)`,
  ],
};
