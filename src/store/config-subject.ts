import { type Db, prepared } from './database.ts';

/**
 * What is read of the configuration for itself, and changes for itself. Triggers on the tables count
 * its version (`migrations/0045-config-subjects.ts`); one that is new comes with a migration.
 */
export const SUBJECTS = [
  'mounts',
  'policies',
  // Which groups there are, and which of them are in which.
  'identity/group-tree',
  'broker/scopes',
  'broker/roles',
  'broker/role-principals',
  // Which roles the two have that stand for everybody, and what these grant.
  'broker/everybody',
  'broker/group-members',
  'broker/workers',
] as const;

export type Subject = (typeof SUBJECTS)[number];

/** The id of a mount follows: its issuers, keys and settings, and apart from them its roles. */
export type MountSubject = `pki/${string}` | `pki-roles/${string}`;

const readVersions = prepared((from) =>
  from.selectFrom('config_subject').select(['subject', 'version']).where('subject', 'in', SUBJECTS),
);

/** Versions of all subjects but those of mounts, in one question. */
export async function listSubjectVersions(db: Db): Promise<ReadonlyMap<string, number>> {
  const rows = await readVersions.all(db, {});
  return new Map(rows.map(({ subject, version }) => [subject, version]));
}

const readVersion = prepared((from, { subject }: { subject: string }) =>
  from.selectFrom('config_subject').select('version').where('subject', '=', subject),
);

/** Undefined for a mount that is not there, or not yet. */
export async function findSubjectVersion(db: Db, subject: string): Promise<number | undefined> {
  return (await readVersion.first(db, { subject }))?.version;
}
