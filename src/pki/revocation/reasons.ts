import { comparedBy, eachText } from '../../core/comparison.ts';
import { invalid } from '../../core/failure.ts';
import { text } from '../../core/fields.ts';

/** CRLReason of RFC 5280 §5.3.1, by its numbers; 7 is not used. */
const REASONS = new Map([
  ['unspecified', 0],
  ['keyCompromise', 1],
  ['cACompromise', 2],
  ['affiliationChanged', 3],
  ['superseded', 4],
  ['cessationOfOperation', 5],
  ['certificateHold', 6],
  ['removeFromCRL', 8],
  ['privilegeWithdrawn', 9],
  ['aACompromise', 10],
]);

/** Others may have the key: the two reasons that say so, of whoever it is and of an authority. */
const COMPROMISED: ReadonlySet<number> = new Set([1, 2]);

/** Whether nothing is certified for a key any more whose certificate is revoked for this reason. @see P-265 */
export const isCompromise = (reason: number): boolean => COMPROMISED.has(reason);

const REMOVE_FROM_CRL = 8;

const BY_TEXT = new Map(
  [...REASONS].flatMap(([name, code]) => [
    [name.toLowerCase(), code],
    [String(code), code],
  ]),
);

/** A reason by its name in any case, or by its number; none is `unspecified`. */
const reasonText = comparedBy(text, {
  form: eachText((written) => BY_TEXT.get(written.toLowerCase()) ?? (written || 0)),
});

/** Of every request that revokes. */
export const reasonField = {
  reason: reasonText('').describe(
    'Why, as RFC 5280 §5.3.1 names or numbers it, e.g. "superseded"; none: unspecified. After "keyCompromise" and "cACompromise" nothing is signed for the key any more.',
  ),
};

/** @returns CRLReason; 0 for none @throws Failure `invalid` @see P-263 */
export function parseReason(written: string): number {
  if (written === '') return 0;
  const code = BY_TEXT.get(written.toLowerCase());
  const names = [...REASONS.keys()].filter((name) => name !== 'removeFromCRL').join(', ');
  if (code === undefined) {
    throw invalid(`reason ${JSON.stringify(written.slice(0, 64))} is none of RFC 5280: ${names}`, {
      fields: { reason: names },
    });
  }
  if (code === REMOVE_FROM_CRL) {
    throw invalid('removeFromCRL is no reason to revoke: what is revoked here stays revoked', {
      fields: { reason: names },
    });
  }
  return code;
}
