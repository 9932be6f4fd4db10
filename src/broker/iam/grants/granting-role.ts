import type { Seen } from '../../resource/by-ids.store.ts';
import { type Grant, parseGrant } from '../../resource/grants/grant.ts';
import type { EffectiveGrant } from '../../resource/grants/reach.ts';
import type { RoleBody } from '../../resource/grants/role.ts';
import { weighRead } from '../../resource/grants/weight.ts';
import type { Resource } from '../../resource/resource.ts';

/** A role as grants are looked up: what it grants where. */
export interface GrantingRole extends Seen {
  held: readonly EffectiveGrant[];
  /** About how many bytes it takes. */
  bytes: number;
}

const ROLE_BYTES = 512;
/** The id of a scope that it names. */
const SCOPE_ID_BYTES = 40;

/** A grant that was read, with its text. */
export interface ReadGrant {
  text: string;
  grant: Grant;
}

/** Undefined for one that cannot be used. */
export function readGrant(text: string): ReadGrant | undefined {
  const reading = parseGrant(text);
  if (!reading.valid) return undefined;
  hashIds(reading.grant.ids);
  return { text, grant: reading.grant };
}

/**
 * Works out the hashes of ids, of which there may be thousands: it is done here, where there is time between
 * two roles, and not when a question is waiting for an answer.
 */
function hashIds(ids: readonly string[]): void {
  if (ids.length > 1) new Set(ids);
}

/** @param read may give the same grant for the same text: most roles grant what many others do */
export function readGrants(
  { id, version, updated_ms, scope_id, body }: Resource<RoleBody>,
  read: (text: string) => ReadGrant | undefined = readGrant,
): GrantingRole {
  const { grant_strings, grant_scope_ids: where } = body;
  const grant_scope_ids = where.length === 1 && where[0] === 'this' ? THIS : where;
  const held: EffectiveGrant[] = [];
  let bytes = ROLE_BYTES + grant_scope_ids.length * SCOPE_ID_BYTES;
  for (const written of grant_strings) {
    const found = read(written);
    if (!found) continue;
    const { grant, text } = found;
    held.push({ grant, role_id: id, role_scope_id: scope_id, grant_scope_ids, text });
    bytes += weighGrant(found);
  }
  return { id, version, updated_ms, held: compact(held), bytes };
}

/** Of most roles. */
const THIS: readonly string[] = ['this'];
const NONE: readonly EffectiveGrant[] = [];

/** A list that has grown has room for more; of many thousands of roles that is most of what they take. */
const compact = (list: readonly EffectiveGrant[]): readonly EffectiveGrant[] =>
  list.length === 0 ? NONE : list.slice();

/** About how many bytes a grant takes that was read. */
export const weighGrant = ({ text, grant }: ReadGrant): number => weighRead(grant, text);
