import type { Steps } from '../core/steps.ts';
import type { Comparisons } from './comparisons.ts';
import { isList, type Named } from './named-values.ts';
import type { Forms, Sent } from './parameter-forms.ts';
import type { ParameterValue } from './policy.ts';
import { holdsEntries, isSame } from './same-value.ts';
import type { Stride } from './stride.ts';
import { isGlob, LONG_TEXT } from './value-set.ts';
import { textOf } from './value-texts.ts';

/**
 * Whether a value is one of those that a rule denies. Also true if an element of a list is what a rule
 * names, or an item of a text that can be read as one: otherwise a denied value would be let in by a
 * bracket, a comma or a blank beside it. Upper case, another form of the same length of time and
 * another way to write the same boolean or number are no ways around a denial either.
 */
export function* walkDenied(
  denied: readonly ParameterValue[],
  sent: Sent,
  budget: Stride,
): Steps<boolean> {
  const forms = yield* sent.walkForms(budget);
  if (!forms) return true;
  for (const each of denied) {
    while (budget.isStepOver) yield;
    const named = sent.named.find(each, budget);
    if (named && mayNameValue(named)) yield* forms.readValues(budget);
    if (!named || isDeniedAlone(named, sent, forms, budget) || budget.left < 0) return true;
  }
  const patterns = sent.named.patternsOf(denied, budget);
  if (!patterns) return false;
  for (const text of forms.distinct()) {
    while (budget.isStepOver) yield;
    budget.left -= 1;
    const isFound =
      text.length > LONG_TEXT ? yield* patterns.walk(text, budget) : patterns.has(text, budget);
    if (isFound !== false) return true;
  }
  return false;
}

const mayNameValue = ({ value, values }: Named): boolean =>
  !isList(value) && !isGlob(value) && values.length > 0;

/** {@link walkDenied}, but for what a pattern fits. */
function isDeniedAlone(named: Named, sent: Sent, forms: Forms, budget: Comparisons): boolean {
  const { value } = named;
  if (isList(value)) {
    return (
      forms.lists.some((list) => isSame(value, list, budget)) ||
      isReadAs(named, sent, forms, budget)
    );
  }
  if (textOf(value) === undefined) return sent.value === null;
  if (!isGlob(value)) {
    if (named.spellings.some((text) => forms.has(text))) return true;
    if (named.values.some((each) => forms.hasValue(each))) return true;
  }
  const isSameInstant = named.instants.some((instant) => sent.instants.has(instant));
  return isSameInstant || isReadAs(named, sent, forms, budget);
}

/** Whether what is read is what the endpoint would read of a value named. */
function isReadAs({ value, meant }: Named, sent: Sent, forms: Forms, budget: Comparisons): boolean {
  if (meant === undefined) return false;
  const { read } = sent;
  if (read === undefined) return false;
  if (isSame(meant, read, budget) || holdsEntries(read, meant, budget)) return true;
  if (isList(value) || !Array.isArray(meant) || !Array.isArray(read)) return false;
  return meant.length === 1 && forms.hasItem(meant[0]);
}
