import { type OwnPath, pathOfName, type Sense } from '../../acl/name-form.ts';
import type { Caller } from '../../app/caller.ts';

/** The id and name of an entity or a group; either may not be known yet. */
interface Known {
  id?: string;
  name?: string;
}

/** A change: these fields name the entity or group, all others are judged. */
const CHANGED: Sense = { stands_for: ['id', 'name'] };

/** A change that names it by id: a name in the request is its new one. */
const RENAMED: Sense = { stands_for: ['id'] };

/** A lookup by one of these fields. */
export const LOOKED_UP: Sense = {
  stands_for: ['id', 'name', 'alias_id', 'alias_name', 'alias_mount_accessor'],
  isRead: true,
};

/** Membership in a group, which gives it the group's policies. */
export const JOINED: Sense = { alike: ['policies'] };

/** Any other request that concerns it: no field describes it. */
export const CONCERNED: Sense = { alike: [] };

/** An alias that is named by its id. */
export const NAMED_ALIAS: Sense = { stands_for: ['id'] };

/** An alias that is found by its name on its mount. */
export const FOUND_ALIAS: Sense = { stands_for: ['id', 'name', 'mount_accessor'] };

/** The paths of an entity or a group itself, for requests at other paths that name or find it. */
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

/** As {@link ownPaths}, for a body that changes it: with an id, the name is its new one. */
export function pathsInBody(
  caller: Pick<Caller, 'mount'>,
  kind: 'entity' | 'group',
  { id = '', name = '' }: Known,
): OwnPath[] {
  return [...ownPaths(caller, kind, { id }, RENAMED), ...ownPaths(caller, kind, { name })];
}

/**
 * The own paths of what a body named. A request at such a path itself is judged by that, and has none here.
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
