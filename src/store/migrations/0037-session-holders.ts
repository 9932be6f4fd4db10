import type { Migration } from '../migration.ts';

/**
 * A session ends with the token that it was authorized by, also where that is one of the authority's
 * API: by the token's row, or by the alias of its log-in where a batch token has none. An alias counts
 * how often it became another one, so that a batch token knows it again only if it never did.
 */
export const sessionHolders: Migration = {
  number: 37,
  name: 'session holders',
  up: ({ integer, text }) => [
    `alter table session add column token_id ${text} not null default ''`,
    `alter table session add column alias_id ${text} not null default ''`,
    "create index session_token on session (token_id) where token_id <> ''",
    "create index session_alias on session (alias_id) where alias_id <> ''",
    `alter table identity_alias add column moves ${integer} not null default 0`,
  ],
};
