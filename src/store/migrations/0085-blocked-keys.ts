import type { Migration } from '../migration.ts';

/** Keys that others may have: no certificate is made for them any more. */
export const blockedKeys: Migration = {
  number: 85,
  name: 'blocked keys',
  up: (t) => [
    `create table pki_blocked_key (
      mount_id ${t.text} not null,
      key_sha256 ${t.text} not null,
      serial ${t.text} not null,
      blocked_at_ms ${t.integer} not null,
      primary key (mount_id, key_sha256)
    ${t.keyed_table}`,
  ],
};
