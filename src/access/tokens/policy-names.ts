import { countCharacters, MAX_LIST } from '../../core/conversions.ts';
import { invalid } from '../../core/failure.ts';
import { foldName } from '../../core/fold.ts';

/** Names as they are compared and stored: lower case, each once, sorted, no empty one. */
export function canonicalPolicies(names: readonly string[]): string[] {
  const trimmed = names.map((name) => foldName(name.trim())).filter((name) => name !== '');
  return [...new Set(trimmed)].sort();
}

/** Whether there is no name among these; true of no names at all. */
export function areBlank(names: readonly string[]): boolean {
  return names.every((name) => name.trim() === '');
}

/**
 * Characters of the names of all policies that a token has, and of those that bound it: whoever makes a
 * token from another hands them on with a few bytes, and they are kept with each.
 */
export const MOST_CHARACTERS = MAX_LIST;

/**
 * @param field what the caller should look at, e.g. `policies`
 * @throws Failure `invalid` for longer names of policies in all than a token may have
 */
export function requireModestNames(field: string, ...lists: readonly (readonly string[])[]): void {
  const characters = lists.reduce((sum, names) => sum + countCharacters(names), 0);
  if (characters <= MOST_CHARACTERS) return;
  throw invalid(
    `${field}: the names of a token's policies, and of those that it was made from, have at most ${MOST_CHARACTERS} characters in all, these have ${characters}`,
  );
}
