import type { Migration } from '../migration.ts';

/** Keys, issuers, roles and certificates of the certificate authority. */
export const authority: Migration = {
  number: 4,
  name: 'authority',
  up: (t) => [
    `create table pki_authority (
      mount_id ${t.text} not null primary key,
      version ${t.integer} not null,
      default_issuer ${t.text} not null,
      default_key ${t.text} not null,
      follows_latest ${t.integer} not null
    ${t.keyed_table}`,

    `create table pki_config (
      mount_id ${t.text} not null,
      name ${t.text} not null,
      body ${t.text} not null,
      primary key (mount_id, name)
    ${t.keyed_table}`,

    `create table pki_key (
      mount_id ${t.text} not null,
      id ${t.text} not null,
      name ${t.text} not null,
      key_type ${t.text} not null,
      key_bits ${t.integer} not null,
      public_key ${t.bytes} not null,
      private_key_sealed ${t.bytes} not null,
      primary key (mount_id, id)
    ${t.table}`,
    "create unique index pki_key_name on pki_key (mount_id, name) where name <> ''",

    `create table pki_issuer (
      mount_id ${t.text} not null,
      id ${t.text} not null,
      name ${t.text} not null,
      key_id ${t.text} not null,
      certificate ${t.bytes} not null,
      body ${t.text} not null,
      revoked_at_ms ${t.integer},
      modified_at_ms ${t.integer} not null,
      created_at_ms ${t.integer} not null,
      primary key (mount_id, id)
    ${t.table}`,
    "create unique index pki_issuer_name on pki_issuer (mount_id, name) where name <> ''",

    `create table pki_role (
      mount_id ${t.text} not null,
      name ${t.text} not null,
      body ${t.text} not null,
      primary key (mount_id, name)
    ${t.table}`,

    `create table pki_certificate (
      mount_id ${t.text} not null,
      serial ${t.text} not null,
      issuer_id ${t.text} not null,
      role ${t.text} not null,
      subject_cn ${t.text} not null,
      not_before ${t.integer} not null,
      not_after ${t.integer} not null,
      revoked_at_ms ${t.integer},
      revocation_reason ${t.integer},
      der ${t.bytes} not null,
      primary key (mount_id, serial)
    ${t.table}`,
    'create index pki_certificate_end on pki_certificate (mount_id, not_after, serial)',
    'create index pki_certificate_issuer on pki_certificate (mount_id, issuer_id, not_after, serial)',
    'create index pki_certificate_role on pki_certificate (mount_id, role, not_after, serial)',
    'create index pki_certificate_revoked on pki_certificate (mount_id, revoked_at_ms) where revoked_at_ms is not null',

    // Names are kept backwards, so that everything beneath a domain lies together.
    `create table pki_certificate_name (
      mount_id ${t.text} not null,
      reversed ${t.text} not null,
      serial ${t.text} not null,
      primary key (mount_id, reversed, serial)
    ${t.keyed_table}`,
    'create index pki_certificate_name_serial on pki_certificate_name (mount_id, serial)',

    `create table pki_count (
      mount_id ${t.text} not null,
      name ${t.text} not null,
      value ${t.integer} not null,
      primary key (mount_id, name)
    ${t.keyed_table}`,
  ],
};
