import type { Migration } from '../migration.ts';

/** Which keys of devices sign PSS alone: what is decided on for them says so before they sign. */
export const pssOfDevices: Migration = {
  number: 106,
  name: 'pss of devices',
  up: ({ text }) => [
    `alter table pki_key add column pss ${text} not null default ''`,
    `update pki_key set pss = 'PSS' where managed_key_id in
      (select id from managed_key where body like '%"mechanism":"0xd"%')`,
  ],
};
