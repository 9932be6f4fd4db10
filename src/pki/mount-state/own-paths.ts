import { type OwnPath, pathOfName, type Sense } from '../../acl/name-form.ts';
import type { Caller } from '../../app/caller.ts';

/** The reference, id and name of an issuer or a key; a name may be empty. */
interface Known {
  /** As it was sent: an id, a name, or `default`. */
  ref?: string | undefined;
  id?: string;
  name?: string | undefined;
}

/** A change of the name of an issuer or a key. */
export const RENAMED: Readonly<Record<'issuer' | 'key', Sense>> = {
  issuer: { stands_for: ['issuer_ref', 'issuer_name'] },
  key: { stands_for: ['key_ref', 'key_name'] },
};

/** A request that concerns all issuers or keys at once: no field of it describes a single one. */
export const CONCERNED: Sense = { alike: [] };

/** What an issuer or a key has made is read. */
export const LOOKED_UP: Sense = { alike: [], isRead: true };

/** The paths of an issuer or a key itself, for requests at other paths that name or find it. */
export function ownPaths(
  { mount }: Pick<Caller, 'mount'>,
  kind: 'issuer' | 'key',
  known: Known | undefined,
  sense: Sense = {},
): OwnPath[] {
  const { ref, id, name } = known ?? {};
  const names = new Set([ref, id, name].flatMap((one) => one?.trim() || []));
  const place = `${mount.path}${kind}/`;
  return [...names].map((one) => ({ ...pathOfName(place, one, 'default_word'), ...sense }));
}
