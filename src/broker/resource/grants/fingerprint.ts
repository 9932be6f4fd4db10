import { hash } from 'node:crypto';
import { memoizeWeak } from '../../../core/memoize-weak.ts';
import type { EffectiveGrant } from './reach.ts';

export function addHash(sum: Uint32Array, text: string): void {
  const words = new Uint32Array(Uint8Array.from(hash('sha256', text, 'buffer')).buffer);
  for (const [at, word] of words.entries()) sum[at] = (sum[at] ?? 0) + word;
}

/** A grant as it stands in a role. */
export const fingerprintOf = ({ grant, text, role_id, grant_scope_ids }: EffectiveGrant): string =>
  `${role_id} ${scopesText(grant_scope_ids)} ${text ?? JSON.stringify(grant)}`;

/** The same list for all grants of a role. */
const scopesText = memoizeWeak((ids: readonly string[]) => JSON.stringify(ids));
