import type { OwnPath } from '../../acl/name-form.ts';
import { fullPath, type Mount } from '../../app/mount.ts';
import { omitEmpty } from '../../core/omit-empty.ts';

/** What a request would bring that makes a mount, and where policies may speak of it. */
interface Making {
  fields: Readonly<Record<string, unknown>>;
  paths: readonly OwnPath[];
}

/**
 * A mount where it is now, as if it were made and tuned there with all that it has. What has nothing
 * in it would not have been sent.
 */
export function makingOf(mount: Mount): Making {
  const { type, description, options, local, seal_wrap, external_entropy_access } = mount;
  const settings = omitEmpty({ ...mount.config });
  const tuned = omitEmpty({ description, options, ...settings });
  const own = { type, description, options, local, seal_wrap, external_entropy_access };
  const made = omitEmpty({ ...own, config: settings });
  const tunes = Object.keys(tuned);
  const paths = pathsOfMount(fullPath(mount).replace(/\/$/, '')).flatMap(({ path }) => [
    { path, part: Object.keys(made) },
    ...(tunes.length === 0 ? [] : [{ path: `${path}/tune`, part: tunes }]),
  ]);
  return { fields: { ...tuned, ...made }, paths };
}

/** Where a mount is made and removed. */
export const pathsOfMount = (place: string): { path: string }[] => [
  { path: `sys/mounts/${place}` },
  ...(place.startsWith('auth/') ? [{ path: `sys/${place}` }] : []),
];
