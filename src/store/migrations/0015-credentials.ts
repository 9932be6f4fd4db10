import type { Migration } from '../migration.ts';

/** Tokens of Vault stores, and what sessions' workers use. */
export const credentials: Migration = {
  number: 15,
  name: 'credentials',
  up: (t) => [
    // Each row holds all that is needed to reach its server, so that it outlives its store.
    `create table vault_token (
      id ${t.text} not null primary key,
      store_id ${t.text} not null,
      status ${t.text} not null,
      secret_sealed ${t.bytes} not null,
      renew_at ${t.integer} not null,
      expires_at ${t.integer} not null,
      replaced_at ${t.integer}
    ${t.table}`,
    'create index vault_token_store on vault_token (store_id)',

    `create table session_credential (
      session_id ${t.text} not null,
      source_id ${t.text} not null,
      expires_at ${t.integer} not null,
      secret_sealed ${t.bytes} not null,
      primary key (session_id, source_id)
    ${t.table}`,
    'create index session_credential_expiry on session_credential (expires_at)',
  ],
};
