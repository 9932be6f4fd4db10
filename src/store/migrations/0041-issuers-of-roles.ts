import type { Migration } from '../migration.ts';

const NAMED = '"issuer_ref":"';
/** Nothing longer names an issuer, and an index of PostgreSQL takes no text of any length. */
const LONGEST = 255;

/**
 * Which roles name an issuer is asked when it is renamed or removed. Their bodies, up to a megabyte
 * each, are not read for that. What is not plain in the body names nothing: in JSON no text of a
 * client's has these quotes without backslashes between them.
 */
export const issuersOfRoles: Migration = {
  number: 41,
  name: 'issuers of roles',
  up: ({ engine, text }) => {
    const find = engine === 'sqlite' ? 'instr' : 'strpos';
    const rest = `substr(body, ${find}(body, '${NAMED}') + ${NAMED.length})`;
    const value = `substr(${rest}, 1, ${find}(${rest}, '"') - 1)`;
    return [
      `alter table pki_role add column issuer_ref ${text} not null default 'default'`,
      `update pki_role set issuer_ref = case when length(${value}) <= ${LONGEST} then ${value} else '' end
        where ${find}(body, '${NAMED}') > 0`,
      'create index pki_role_issuer on pki_role (mount_id, issuer_ref)',
    ];
  },
};
