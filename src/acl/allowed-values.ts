import type { Steps } from '../core/steps.ts';
import type { Comparisons } from './comparisons.ts';
import type { NamedSet } from './named-values.ts';
import type { Sent } from './parameter-forms.ts';
import type { ParameterValue } from './policy.ts';
import { isSame } from './same-value.ts';
import type { Stride } from './stride.ts';
import type { Items } from './text-items.ts';
import { MAX_ITEMS, textOf } from './value-texts.ts';

/**
 * Whether what the endpoint reads is what it would read of a value that a rule allows, or a list of
 * such. What it refuses to read is compared as it was sent.
 */
export function* walkAllowed(
  allowed: readonly ParameterValue[],
  sent: Sent,
  budget: Stride,
): Steps<boolean> {
  if (!(yield* sent.walkRead(budget))) return false;
  const { read, value } = sent;
  const set = sent.named.setOf(allowed, budget);
  if (!set) return false;
  if (read === undefined) return yield* walkNamed(set, value, sent, budget);
  if (set.names('*') || areAmong(set, read, budget)) return true;
  for (const each of allowed) {
    while (budget.isStepOver) yield;
    const named = sent.named.find(each, budget);
    if (!named) return false;
    if (isSame(named.meant, read, budget)) return true;
  }
  const items = sent.named.itemsOf(allowed, budget);
  if (!items) return false;
  if (!Array.isArray(read)) {
    return yield* walkNamed(items, textOf(read) ?? read, sent, budget);
  }
  if (read.length === 0) return false;
  return yield* walkItems(items, read, budget);
}

/** Whether what is read is a text that is named word for word, or a list of such. */
function areAmong(set: NamedSet, read: unknown, budget: Comparisons): boolean {
  const texts: readonly unknown[] = Array.isArray(read) ? read : [read];
  budget.left -= 1 + (texts.length >> 1);
  if (budget.left < 0) return false;
  return texts.length > 0 && texts.every((text) => typeof text === 'string' && set.names(text));
}

/**
 * Whether a value is among those named. A text may be read as a list later, `a,b` or
 * `["a","b"]`, so a pattern lets such a text pass only where some pattern fits each item of it:
 * `*.example.com` must not let in `evil.test,www.example.com`.
 */
function* walkNamed(set: NamedSet, value: unknown, sent: Sent, budget: Stride): Steps<boolean> {
  const items = sent.itemsIn(value);
  if (items === undefined) return (yield* set.walk(value, budget)) === true;
  if (typeof value === 'string' && (set.names(value) || set.names('*'))) return true;
  return yield* walkItems(set, items, budget);
}

function* walkItems(set: NamedSet, items: Items, budget: Stride): Steps<boolean> {
  if (items.length > MAX_ITEMS) return false;
  for (let at = 0; at < items.length; at++) {
    while (budget.isStepOver) yield;
    if (set.has(items.at(at), budget) !== true) return false;
  }
  return true;
}
