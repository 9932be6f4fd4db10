import type { Migration } from '../migration.ts';

/** By what it is found what ends with a removal. */
export const endings: Migration = {
  number: 17,
  name: 'endings',
  up: (t) => {
    const field = (name: string): string =>
      t.engine === 'sqlite'
        ? `json_extract(log_in.body, '$.${name}')`
        : `log_in.body::json ->> '${name}'`;
    return [
      `create table permission_version (
        id ${t.integer} not null primary key check (id = 1),
        version ${t.integer} not null
      ${t.table}`,
      'insert into permission_version (id, version) values (1, 1)',

      // A log-in is found by its token's row, and by the account that it came through.
      `update resource as log_in set unique_key = ${field('token_row')} where type = 'auth-token'`,
      `insert into resource_link (from_id, kind, to_id)
        select log_in.id, 'log-in-account', account.id
        from resource as log_in join resource as account on account.id = ${field('account_id')}
        where log_in.type = 'auth-token'`,
    ];
  },
};
