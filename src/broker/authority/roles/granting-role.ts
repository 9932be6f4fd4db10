import { textBytes } from '../../../core/kept.ts';
import { hasTemplates, parseGrant } from '../../grants/grant.ts';
import type { HeldGrant } from '../../grants/reach.ts';
import type { Resource } from '../../resource.ts';
import type { Seen } from '../../resources/by-ids/store.ts';
import type { RoleBody } from '../../roles/role.ts';

/** A role as grants are looked up: what it grants where. */
export interface GrantingRole extends Seen {
  /** What it grants to everybody who has it alike. */
  held: readonly HeldGrant[];
  /** What is to be filled in for each who has it. */
  templates: readonly HeldGrant[];
  /** About how many bytes it takes. */
  bytes: number;
}

const ROLE_BYTES = 512;
/** A grant that was read takes as much besides its text, however short, and so does an id in it. */
const GRANT_BYTES = 280;
const ID_BYTES = 40;

export function readGrants({ id, version, updated_ms, scope_id, body }: Resource): GrantingRole {
  const { grant_strings, grant_scope_ids } = body as RoleBody;
  const held: HeldGrant[] = [];
  const templates: HeldGrant[] = [];
  let bytes = ROLE_BYTES + grant_scope_ids.length * ID_BYTES;
  for (const text of grant_strings) {
    const reading = parseGrant(text);
    if (!reading.valid) continue;
    const { grant } = reading;
    const one = { grant, role_id: id, role_scope_id: scope_id, grant_scope_ids, text };
    if (hasTemplates(grant)) templates.push(one);
    else held.push(one);
    bytes += textBytes(text) + GRANT_BYTES + hashIds(grant.ids) * ID_BYTES;
  }
  return { id, version, updated_ms, held, templates, bytes };
}

/**
 * How many different ids there are. That works out their hashes, of which there may be thousands: it is
 * done here, where there is time between two roles, and not when a question is waiting for an answer.
 */
const hashIds = (ids: readonly string[]): number =>
  ids.length > 1 ? new Set(ids).size : ids.length;
