import type { Migration } from '../migration.ts';
import { tagBodies } from './0057-body-tags.ts';

/** Roles of SSH are rested on by each certificate that is signed. */
export const sshRoleTags: Migration = {
  number: 120,
  name: 'ssh role tags',
  up: (t) => tagBodies(t, [['ssh_role', ['mount_id', 'name']]]),
};
