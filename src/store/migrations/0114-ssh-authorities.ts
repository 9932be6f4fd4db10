import type { Migration } from '../migration.ts';

/** Authorities of SSH, one a mount, and their roles. */
export const sshAuthorities: Migration = {
  number: 114,
  name: 'ssh-authorities',
  up: (t) => [
    `create table ssh_authority (
      mount_id ${t.text} not null,
      public_key ${t.text} not null,
      private_key_sealed ${t.bytes} not null,
      primary key (mount_id)
    ${t.keyed_table}`,
    `create table ssh_role (
      mount_id ${t.text} not null,
      name ${t.text} not null,
      body ${t.text} not null,
      primary key (mount_id, name)
    ${t.table}`,
  ],
};
