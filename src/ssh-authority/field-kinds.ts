import { comparedBy, eachText } from '../core/comparison.ts';
import type { FieldKind } from '../core/field.ts';
import { longText, text } from '../core/fields.ts';
import { splitPrincipals } from './principals.ts';

/** Names with commas between them: conditions hold for each, and their order says nothing. */
export const principalsText: FieldKind<string> = comparedBy(text, {
  form: eachText((written) => splitPrincipals(written).toSorted().join(',')),
  also: splitPrincipals,
});

/** A public key as one line: its kind and its bytes, whatever is remarked behind them. */
export const publicKeyLine: FieldKind<string> = comparedBy(longText, {
  form: eachText((line) => line.trim().split(/\s+/, 2).join(' ')),
});
