import type { Migration } from '../migrations.ts';

/**
 * A token keeps which alias its log-in came by, so that it ends with it. Those of before get theirs:
 * an entity has one alias of a mount.
 */
export const logIns: Migration = {
  number: 31,
  name: 'log-ins',
  up: ({ engine, text }) => {
    const entity_id =
      engine === 'sqlite'
        ? "json_extract(token.body, '$.entity_id')"
        : "token.body::json ->> 'entity_id'";
    return [
      `alter table token add column alias_id ${text} not null default ''`,
      `update token set alias_id = coalesce(
        (select identity_alias.id from identity_alias
          join mount on mount.accessor = identity_alias.mount_accessor
          where mount.id = token.mount_id and identity_alias.entity_id = ${entity_id}), '')
        where mount_id <> ''`,
      "create index token_alias on token (alias_id) where alias_id <> ''",
    ];
  },
};
