import type { OwnPath } from '../../access/name-form.ts';
import { fullPath, type Mount } from '../mount.ts';

/** What a request would bring that makes a mount, and where policies may speak of it. */
export interface Making {
  fields: Readonly<Record<string, unknown>>;
  paths: readonly OwnPath[];
}

/**
 * A mount where it is now, as if it were made and tuned there with all that it has. What has nothing
 * in it would not have been sent.
 */
export function makingOf(mount: Mount): Making {
  const { type, description, options, local, seal_wrap, external_entropy_access } = mount;
  const settings = sayingOf({ ...mount.config });
  const tuned = sayingOf({ description, options, ...settings });
  const made = sayingOf({
    ...{ type, description, options, local, seal_wrap, external_entropy_access },
    config: settings,
  });
  const paths = pathsOfMount(fullPath(mount).replace(/\/$/, '')).flatMap(({ path }) => [
    { path, part: Object.keys(made) },
    ...(isEmpty(tuned) ? [] : [{ path: `${path}/tune`, part: Object.keys(tuned) }]),
  ]);
  return { fields: { ...tuned, ...made }, paths };
}

/** Where a mount is made and removed. */
export const pathsOfMount = (place: string): { path: string }[] => [
  { path: `sys/mounts/${place}` },
  ...(place.startsWith('auth/') ? [{ path: `sys/${place}` }] : []),
];

function sayingOf(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)));
}

function isEmpty(value: unknown): boolean {
  return !value || (typeof value === 'object' && Object.keys(value).length === 0);
}
