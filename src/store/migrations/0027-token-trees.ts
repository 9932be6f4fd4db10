import type { Migration } from '../migration.ts';

/**
 * A token goes with the one above it, also one that another node was making below it while the tree
 * was being deleted. On SQLite one connection writes, and a statement that deletes a tree sees all of
 * it; there a constraint cannot be altered either.
 */
export const tokenTrees: Migration = {
  number: 27,
  name: 'token trees',
  up: ({ engine }) =>
    engine === 'sqlite'
      ? []
      : [
          `alter table token drop constraint token_parent_id_fkey,
            add constraint token_parent_id_fkey foreign key (parent_id)
              references token (id) on delete cascade`,
        ],
};
