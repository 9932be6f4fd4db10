import { textBytes } from '../../../core/kept.ts';
import type { Grant } from './grant.ts';
import type { EffectiveGrant } from './reach.ts';

// What is kept of grants is weighed here alone, whoever keeps it: what one place counts for less than it takes
// is what somebody fills the server with.

/** A grant that was read takes as much besides its text, however short; so does a name in it, of whatever. */
const GRANT_BYTES = 280;
const NAME_BYTES = 40;

/** Filed for the types that it is about a grant takes as much more, and so does each id in it. */
const FILED_BYTES = 232;
const FILED_ID_BYTES = 72;

/** About how many bytes a grant takes that was read, with its text. */
export function weighRead({ ids, actions, output_fields }: Grant, text: string): number {
  const names = ids.length + actions.length + (output_fields?.length ?? 0);
  return textBytes(text) + GRANT_BYTES + names * NAME_BYTES;
}

/** The same of one that is filed besides. */
function weighFiled(grant: Grant, text: string): number {
  return weighRead(grant, text) + FILED_BYTES + grant.ids.length * FILED_ID_BYTES;
}

/** What a grant set takes, a role, each scope more that it names, and a held grant besides what the grant does. */
const BYTES = { set: 2048, role: 160, scope: 56, held: 64 } as const;

/** About how many bytes a set of some grants takes. */
export function weighGrants(held: readonly EffectiveGrant[], roles: number): number {
  let bytes = BYTES.set + roles * BYTES.role + held.length * BYTES.held;
  const grants = new Set<Grant>();
  let where: EffectiveGrant['grant_scope_ids'] = [];
  for (const { grant, text = '', grant_scope_ids } of held) {
    // The same list for all grants of a role, which stand together.
    if (grant_scope_ids !== where) bytes += BYTES.scope * Math.max(0, grant_scope_ids.length - 1);
    where = grant_scope_ids;
    if (grants.has(grant)) continue;
    grants.add(grant);
    bytes += weighFiled(grant, text);
  }
  return bytes;
}
