import type { Migration } from '../migration.ts';

/** Request headers that audit records tell. */
export const auditHeaders: Migration = {
  number: 74,
  name: 'audit headers',
  up: (t) => [
    `create table audit_header (
      name ${t.text} not null primary key,
      hmac ${t.integer} not null
    ${t.keyed_table}`,
  ],
};
