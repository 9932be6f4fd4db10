// All scopes are in memory, each request finds its own there, and recursive lists judge every one of them.
// Whoever may add projects in one org must not take everybody's time, nor everybody's room.

/** Projects of an org. */
export const MOST_PROJECTS = 10_000;
/** Orgs, which only somebody of the global scope adds. */
export const MOST_ORGS = 10_000;
/** Scopes in all. */
export const MOST_SCOPES = 50_000;

/** How many scopes there are, each as far as it matters. */
export interface ScopeCounts {
  /** In the parent of a new one. */
  siblings: number;
  all: number;
}

/** How many scopes a parent takes. */
export const mostIn = (parent_id: string): number =>
  parent_id === 'global' ? MOST_ORGS : MOST_PROJECTS;

/** What keeps one more scope from a parent, or undefined. */
export function faultOfScopes(
  parent_id: string,
  { siblings, all }: ScopeCounts,
): string | undefined {
  if (siblings >= mostIn(parent_id)) {
    return parent_id === 'global'
      ? `There may be at most ${MOST_ORGS} orgs.`
      : `An org may have at most ${MOST_PROJECTS} projects.`;
  }
  return all >= MOST_SCOPES
    ? `There may be at most ${MOST_SCOPES} scopes, orgs and projects together.`
    : undefined;
}
