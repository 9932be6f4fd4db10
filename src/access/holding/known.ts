import type { Sized } from '../../core/held-together.ts';
import type { IdentityFacts } from '../../core/identity-template.ts';
import { jsonBytes } from '../../core/kept.ts';
import { remembered } from '../../core/remembered.ts';
import type { Acl } from '../acl.ts';
import type { TokenFacts } from '../caller.ts';

/** What is known of whoever asks. */
export interface Known {
  token?: TokenFacts | undefined;
  acl?: Acl | undefined;
  identity?: IdentityFacts | undefined;
}

/** Bytes of one thing; what people write is far less. */
const MUCH = 1 << 14;

const NOTHING: readonly Sized[] = [];

/** What of it takes much. */
export function listMuch({ token, acl, identity }: Known): readonly Sized[] {
  const told = token ? weighToken(token) : 0;
  const facts = identity ? weighFacts(identity) : 0;
  if ((acl?.bytes ?? 0) <= MUCH && told <= MUCH && facts <= MUCH) return NOTHING;
  const much: Sized[] = [];
  if (acl && acl.bytes > MUCH) {
    // Tokens of which one bounds the other have some in common.
    for (const table of acl.tables) much.push({ of: table, bytes: table.bytes });
  }
  // The list is the stored token's own, and the same for all requests as long as that is kept.
  if (token && told > MUCH) much.push({ of: token.policies, bytes: told });
  if (identity && facts > MUCH) much.push({ of: identity, bytes: facts });
  return much;
}

export const isMuch = ({ bytes }: Sized): boolean => bytes > MUCH;

const weighFacts = remembered((identity: IdentityFacts) => jsonBytes(identity));

/** A text in a list, besides its characters. */
const TEXT_BYTES = 32;

function weighToken({
  policies,
  identity_policies,
  bound_cidrs,
  meta,
  bounds,
}: TokenFacts): number {
  let bytes = weighTexts(policies) + weighTexts(identity_policies) + weighTexts(bound_cidrs);
  if (meta) bytes += weighTexts(Object.keys(meta)) + weighTexts(Object.values(meta));
  if (!bounds) return bytes;
  bytes += weighTexts(bounds.entity_policies);
  for (const { policies: ceiling } of bounds.ceilings) bytes += weighTexts(ceiling);
  return bytes;
}

function weighTexts(texts: readonly string[]): number {
  let bytes = 0;
  for (const text of texts) bytes += TEXT_BYTES + 2 * text.length;
  return bytes;
}
