import type { Migration } from '../migration.ts';

/**
 * IDs of roles that differ in the case of their letters name one entity: they get a key that one
 * role of a mount can have. Two older ones go on as they are, one of them without a key. So does
 * whose ID has letters that only one of the engines folds, until the role is written.
 */
export const roleIdKeys: Migration = {
  number: 25,
  name: 'role id keys',
  up: (t) => [
    `alter table approle_role add column role_id_key ${t.text}`,
    `update approle_role set role_id_key = lower(role_id)
      where length(role_id) = octet_length(role_id)
        and (mount_id, name) in
          (select mount_id, min(name) from approle_role group by mount_id, lower(role_id))`,
    'create unique index approle_role_id_key on approle_role (mount_id, role_id_key)',
  ],
};
