import type { Migration } from '../migration.ts';

const STORE = 'select r.scope_id from resource r where r.id = vault_token.store_id';

/** A token is ended for the project that its store was in, also when the store and the project are gone. */
export const vaultTokenOwners: Migration = {
  number: 70,
  name: 'vault token owners',
  up: (t) => [
    `alter table vault_token add column project_id ${t.text}`,
    `alter table vault_token add column org_id ${t.text}`,
    `update vault_token set project_id = (${STORE})`,
    `update vault_token set org_id =
      (select p.scope_id from resource p where p.id = vault_token.project_id)`,
  ],
};
