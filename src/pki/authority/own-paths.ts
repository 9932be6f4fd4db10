import type { Caller } from '../../access/caller.ts';
import { type NamedPath, pathOfName } from '../../access/name-form.ts';

/** What an issuer or a key is known by; a name may be empty. */
interface Known {
  /** As it was sent: an id, a name, or `default`. */
  ref?: string | undefined;
  id?: string;
  name?: string | undefined;
}

/** The paths of its own that an issuer or a key has, wherever else it is named or found. */
export function ownPaths(
  { mount }: Pick<Caller, 'mount'>,
  kind: 'issuer' | 'key',
  known: Known | undefined,
): NamedPath[] {
  const { ref, id, name } = known ?? {};
  const names = new Set([ref, id, name].flatMap((one) => one?.trim() || []));
  return [...names].map((one) => pathOfName(`${mount.path}${kind}/`, one, 'default_word'));
}
