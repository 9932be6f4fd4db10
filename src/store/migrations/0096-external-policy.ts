import type { Migration } from '../migration.ts';

/** The service that decides on certificates of a mount. */
export const externalPolicy: Migration = {
  number: 96,
  name: 'external policy',
  up: (t) => [
    `create table pki_external_policy (
      mount_id ${t.text} not null primary key,
      version ${t.integer} not null,
      updated_at_ms ${t.integer} not null,
      body ${t.text} not null,
      client_key_sealed ${t.bytes}
    ${t.keyed_table}`,
  ],
};
