import { foldName } from '../../core/fold.ts';

/** Names as they are compared and stored: lower case, each once, sorted, no empty one. */
export function canonicalPolicies(names: readonly string[]): string[] {
  const trimmed = names.map((name) => foldName(name.trim())).filter((name) => name !== '');
  return [...new Set(trimmed)].sort();
}
