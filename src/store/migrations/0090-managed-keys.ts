import type { Migration } from '../migration.ts';

/** Keys that devices have, and those of mounts that stand for them. */
export const managedKeys: Migration = {
  number: 90,
  name: 'managed keys',
  up: (t) => [
    `create table managed_key (
      id ${t.text} not null primary key,
      type ${t.text} not null,
      name ${t.text} not null unique,
      body ${t.text} not null,
      pin_sealed ${t.bytes} not null,
      version ${t.integer} not null
    ${t.keyed_table}`,
    `alter table pki_key add column managed_key_id ${t.text} references managed_key (id)`,
    'create index pki_key_managed on pki_key (managed_key_id) where managed_key_id is not null',
  ],
};
