import type { Migration } from '../migration.ts';

/** Who may do what: tokens, policies, and the accounts that people and machines log in with. */
export const access: Migration = {
  number: 3,
  name: 'access',
  up: (t) => [
    `create table token (
      id ${t.text} not null primary key,
      accessor ${t.text} not null unique,
      parent_id ${t.text} references token (id),
      mount_id ${t.text} not null,
      expires_at ${t.integer},
      uses_left ${t.integer} not null,
      renewed_at ${t.integer},
      body ${t.text} not null
    ${t.table}`,
    'create index token_parent on token (parent_id) where parent_id is not null',
    'create index token_expiry on token (expires_at) where expires_at is not null',
    'create index token_mount on token (mount_id)',

    `create table token_role (
      name ${t.text} not null primary key,
      body ${t.text} not null
    ${t.keyed_table}`,

    `create table policy (
      name ${t.text} not null primary key,
      body ${t.text} not null,
      version ${t.integer} not null,
      modified_at ${t.integer} not null
    ${t.keyed_table}`,

    `create table userpass_user (
      mount_id ${t.text} not null,
      name ${t.text} not null,
      password_hash ${t.text} not null,
      body ${t.text} not null,
      primary key (mount_id, name)
    ${t.keyed_table}`,

    `create table approle_role (
      mount_id ${t.text} not null,
      name ${t.text} not null,
      role_id ${t.text} not null,
      body ${t.text} not null,
      primary key (mount_id, name),
      unique (mount_id, role_id)
    ${t.table}`,

    `create table approle_secret_id (
      id ${t.text} not null primary key,
      accessor ${t.text} not null unique,
      mount_id ${t.text} not null,
      role ${t.text} not null,
      expires_at ${t.integer},
      uses_left ${t.integer} not null,
      body ${t.text} not null,
      foreign key (mount_id, role) references approle_role (mount_id, name) on delete cascade
    ${t.table}`,
    'create index approle_secret_id_role on approle_secret_id (mount_id, role)',
    'create index approle_secret_id_expiry on approle_secret_id (expires_at) where expires_at is not null',
  ],
};
