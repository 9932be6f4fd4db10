/**
 * The paths that a PATCH speaks of: every property of its body, those set to null included;
 * an object contributes the paths of its members, an empty one and a list their own
 * (contract 1.5).
 *
 * @param whole properties that are taken as one value, e.g. `api_tags`
 * @param given the query's `update_mask`, which replaces what the body says
 */
export function deriveMask(
  body: Readonly<Record<string, unknown>>,
  given: readonly string[] = [],
  whole: readonly string[] = [],
): string[] {
  if (given.length > 0) {
    return given
      .flatMap((paths) => paths.split(','))
      .map((path) => path.trim())
      .filter((path) => path !== '');
  }
  return Object.entries(body).flatMap(([name, value]) => listPaths(name, value, whole));
}

function listPaths(path: string, value: unknown, whole: readonly string[]): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [path];
  if (whole.includes(path)) return [path];
  const members = Object.entries(value);
  if (members.length === 0) return [path];
  return members.flatMap(([name, inner]) => listPaths(`${path}.${name}`, inner, whole));
}
