import type { Migration } from '../migration.ts';

/** Lists are kept as what stands around their entries; the entries are the revocations. */
export const lists: Migration = {
  number: 11,
  name: 'lists',
  up: (t) => {
    const no_bytes = t.engine === 'sqlite' ? "x''" : "'\\x'";
    return [
      // Says which lists a revocation is on: all that cover this revision or a later one.
      `alter table pki_revocation add column revision ${t.integer} not null default 0`,
      'drop index pki_revocation_time',
      'create index pki_revocation_revision on pki_revocation (mount_id, revision)',

      // Grows when revocations are taken away, so that no list is built on one that had them.
      `alter table pki_revision add column epoch ${t.integer} not null default 0`,
      // When what the CRL addresses of the mount show last changed.
      `alter table pki_revision add column lists_modified_at_ms ${t.integer} not null default 0`,

      `alter table pki_crl add column scope ${t.text} not null default ''`,
      `alter table pki_crl add column before_entries ${t.bytes} not null default ${no_bytes}`,
      `alter table pki_crl add column after_entries ${t.bytes} not null default ${no_bytes}`,
      `alter table pki_crl add column algorithm ${t.text} not null default ''`,
      `alter table pki_crl add column signature ${t.bytes} not null default ${no_bytes}`,
      "update pki_crl set base = ''",
      'alter table pki_crl drop column der',
    ];
  },
};
