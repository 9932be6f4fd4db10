import type { Migration } from '../migration.ts';

/** Roles whose rules are a program. */
export const celRoles: Migration = {
  number: 99,
  name: 'cel roles',
  up: (t) => [
    `create table pki_cel_role (
      mount_id ${t.text} not null,
      name ${t.text} not null,
      body ${t.text} not null,
      body_tag ${t.text} not null,
      primary key (mount_id, name)
    ${t.table}`,
  ],
};
