import type { Caller } from '../caller.ts';
import { type NamedPath, pathOfName } from '../name-form.ts';

/** What an entity or a group is known by; either may not be known yet. */
interface Known {
  id?: string;
  name?: string;
}

/** The paths of its own that an entity or a group has, wherever else it is named or found. */
export function ownPaths(
  { mount }: Pick<Caller, 'mount'>,
  kind: 'entity' | 'group',
  { id = '', name = '' }: Known,
): NamedPath[] {
  const place = `${mount.path}${kind}/`;
  return [
    ...(id === '' ? [] : [{ path: `${place}id/${id}` }]),
    ...(name === '' ? [] : [pathOfName(`${place}name/`, name, 'lower_case')]),
  ];
}

/**
 * The paths that count besides the one that was asked for: those of what a body named or found. What is
 * asked for at a path of its own is judged by that.
 */
export function otherPaths(
  caller: Pick<Caller, 'mount' | 'record'>,
  kind: 'entity' | 'group',
  found: Known,
): NamedPath[] {
  const isInBody = caller.record.path === `${caller.mount.path}${kind}`;
  return isInBody ? ownPaths(caller, kind, found) : [];
}

/** The path of its own that an alias has; what the mount calls somebody is no path. */
export function aliasPaths(
  { mount }: Pick<Caller, 'mount'>,
  kind: 'entity-alias' | 'group-alias',
  id: string,
): NamedPath[] {
  return id === '' ? [] : [{ path: `${mount.path}${kind}/id/${id}` }];
}
