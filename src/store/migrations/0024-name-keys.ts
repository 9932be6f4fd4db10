import type { Migration } from '../migration.ts';

/**
 * Names fold letter by letter: a capital sigma at an end of a word folds as any other. Keys of
 * names that have it are written anew, unless another has that key already.
 */
export const nameKeys: Migration = {
  number: 24,
  name: 'name keys',
  up: () => [
    rewrite('identity_entity', ''),
    rewrite('identity_alias', ' and other.mount_accessor = identity_alias.mount_accessor'),
    rewrite('identity_group', ''),
  ],
};

function rewrite(table: string, within: string): string {
  const key = `replace(${table}.name_key, 'ς', 'σ')`;
  return `update ${table} set name_key = ${key}
    where name like '%Σ%' and name not like '%ς%' and name_key like '%ς%'
      and not exists (select 1 from ${table} as other where other.name_key = ${key}${within})`;
}
