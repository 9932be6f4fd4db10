import type { Migration } from '../migration.ts';

/**
 * A token of a Vault server that several rows have ends with the last of them: which have the same one is told by a
 * keyed hash. Older ones get theirs from the job that looks after them.
 */
export const sameVaultTokens: Migration = {
  number: 69,
  name: 'same vault tokens',
  up: (t) => [
    `alter table vault_token add column token_mac ${t.text}`,
    'create index vault_token_same on vault_token (token_mac, replaced_at, id)',
  ],
};
