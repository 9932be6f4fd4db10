import { Failure } from '../../core/failure.ts';

/**
 * The paths that a PATCH speaks of: every property of its body, those set to null included;
 * an object contributes the paths of its members, an empty one and a list their own.
 *
 * @throws Failure `invalid` for names that no field has by their length
 * @param whole properties that are taken as one value, e.g. `api_tags`
 * @param given the query's `update_mask`, which replaces what the body says
 * @see B-13
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

/** Of any field there is; longer ones, given to many members, would be longer than the body. */
const MAX_PATH = 512;

function listPaths(path: string, value: unknown, whole: readonly string[]): string[] {
  if (path.length > MAX_PATH) {
    throw new Failure('invalid', 'Error in provided request.', {
      fields: { update_mask: `The path of a field has at most ${MAX_PATH} characters.` },
    });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [path];
  if (whole.includes(path)) return [path];
  const members = Object.entries(value);
  if (members.length === 0) return [path];
  return members.flatMap(([name, inner]) => listPaths(`${path}.${name}`, inner, whole));
}
