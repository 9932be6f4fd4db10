import type { Migration } from '../migration.ts';

// PostgreSQL refuses a JSON text that holds U+0000 or half of a surrogate pair, as a log-in's metadata may.
// What stands for them here is only read past.
const SOUND_BODY = String.raw`regexp_replace(token.body, '\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\\/', 'g')`;

/**
 * A token keeps which alias its log-in came by, so that it ends with it. Older ones get theirs:
 * an entity has one alias of a mount.
 */
export const logIns: Migration = {
  number: 31,
  name: 'log-ins',
  up: ({ engine, text }) => {
    const entity_id =
      engine === 'sqlite'
        ? "json_extract(token.body, '$.entity_id')"
        : `${SOUND_BODY}::json ->> 'entity_id'`;
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
