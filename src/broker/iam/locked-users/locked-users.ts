import { z } from 'zod';

/** A name that is locked, and the accessor that clients know its mount or method by. */
export interface LockedUser {
  accessor: string;
  /** Empty for a name that is not kept. */
  name: string;
}

const counts = z.int().describe('How many are locked.');
export const lockedUsersSchema = z.object({
  by_namespace: z
    .array(
      z.object({
        namespace_id: z.string(),
        namespace_path: z.string(),
        counts,
        mount_accessors: z
          .array(
            z.object({
              mount_accessor: z.string(),
              counts,
              alias_identifiers: z
                .array(z.string())
                .describe('Names that are locked, as far as they are kept.'),
            }),
          )
          .describe('The one with the most first.'),
      }),
    )
    .describe('There is one, unless nobody is locked.'),
  total: counts,
});

/** The order that clients know: most first. */
const byCounts = (one: { counts: number }, other: { counts: number }): number =>
  other.counts - one.counts;

/** Locked names as clients of the Vault API read them: by namespace, of which there is one, and mount. */
export function summariseLocked(locked: readonly LockedUser[]): z.output<typeof lockedUsersSchema> {
  const mount_accessors = [...Map.groupBy(locked, ({ accessor }) => accessor)]
    .map(([mount_accessor, users]) => ({
      mount_accessor,
      counts: users.length,
      alias_identifiers: users
        .map(({ name }) => name)
        .filter((name) => name !== '')
        .sort(),
    }))
    .sort(byCounts);
  const total = locked.length;
  const root = { namespace_id: 'root', namespace_path: '', counts: total, mount_accessors };
  return { by_namespace: total === 0 ? [] : [root], total };
}
