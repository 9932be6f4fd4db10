import { type OwnPath, pathOfName, type Sense } from '../../acl/name-form.ts';
import type { Caller } from '../../app/caller.ts';

/** What an entity or a group is known by; either may not be known yet. */
interface Known {
  id?: string;
  name?: string;
}

/** Named by one of these, and changed by all other fields of the request. */
const CHANGED: Sense = { stands_for: ['id', 'name'] };

/** Named by its id: a name besides is one that it gets. */
const RENAMED: Sense = { stands_for: ['id'] };

/** Found by one of these, to be looked at. */
export const LOOKED_UP: Sense = {
  stands_for: ['id', 'name', 'alias_id', 'alias_name', 'alias_mount_accessor'],
  isRead: true,
};

/** Put into a group, and so given its policies. */
export const JOINED: Sense = { alike: ['policies'] };

/** Something else is done to it: no field speaks of what it has itself. */
export const CONCERNED: Sense = { alike: [] };

/** An alias that is named by its id. */
export const NAMED_ALIAS: Sense = { stands_for: ['id'] };

/** An alias that is found by what its mount calls somebody. */
export const FOUND_ALIAS: Sense = { stands_for: ['id', 'name', 'mount_accessor'] };

/** The paths of its own that an entity or a group has, wherever else it is named or found. */
export function ownPaths(
  { mount }: Pick<Caller, 'mount'>,
  kind: 'entity' | 'group',
  { id = '', name = '' }: Known,
  sense: Sense = CHANGED,
): OwnPath[] {
  const place = `${mount.path}${kind}/`;
  return [
    ...(id === '' ? [] : [{ path: `${place}id/${id}`, ...sense }]),
    ...(name === '' ? [] : [{ ...pathOfName(`${place}name/`, name, 'lower_case'), ...sense }]),
  ];
}

/** Those of what a body names to be changed: the name is one that it gets where there is an id, too. */
export function pathsInBody(
  caller: Pick<Caller, 'mount'>,
  kind: 'entity' | 'group',
  { id = '', name = '' }: Known,
): OwnPath[] {
  return [...ownPaths(caller, kind, { id }, RENAMED), ...ownPaths(caller, kind, { name })];
}

/**
 * The paths that count besides the one that was asked for: those of what a body named or found. What is
 * asked for at a path of its own is judged by that.
 */
export function otherPaths(
  caller: Pick<Caller, 'mount' | 'record'>,
  kind: 'entity' | 'group',
  found: Known,
): OwnPath[] {
  const isInBody = caller.record.path === `${caller.mount.path}${kind}`;
  return isInBody ? ownPaths(caller, kind, found) : [];
}

/** The path of its own that an alias has; what the mount calls somebody is no path. */
export function aliasPaths(
  { mount }: Pick<Caller, 'mount'>,
  kind: 'entity' | 'group',
  id: string,
  sense: Sense,
): OwnPath[] {
  return id === '' ? [] : [{ path: `${mount.path}${kind}-alias/id/${id}`, ...sense }];
}
