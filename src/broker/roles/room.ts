import type { RoleBody } from './role.ts';

// All users whom a role is for have its grants in memory, and each of their requests is judged by them.
// Whoever may add roles in one org must not fill the server with them.

/** What the grants of all roles of an org with its projects come to at most, or of `global` by itself. */
export const MOST_OF_ORG = 3 << 20;
/** The same of a single scope: all of it may hold in one place. */
export const MOST_OF_SCOPE = 1 << 20;

/** What a grant comes to besides its characters: a short one takes no less when it is read. */
export const EACH_GRANT = 64;
/** What a template comes to: a grant with one is another for each user who has it. */
export const EACH_TEMPLATE = 512;

/** What a role's body comes to, as the database works it out. */
export function sizeOfGrants(body: RoleBody): number {
  const text = JSON.stringify(body);
  const count = (part: string): number => text.split(part).length - 1;
  return Buffer.byteLength(text) + count('","') * EACH_GRANT + count('{{') * EACH_TEMPLATE;
}

/**
 * What keeps a role from growing, or undefined.
 *
 * @param sums of all roles as they are; `global` is no scope of an org
 * @param more what the role is to grow by
 */
export function faultOfRoom(
  sums: { org: number; scope: number },
  more: number,
): string | undefined {
  if (sums.org + more > MOST_OF_ORG)
    return faultOf('an org with its projects, or of global,', MOST_OF_ORG);
  return sums.scope + more > MOST_OF_SCOPE ? faultOf('a scope', MOST_OF_SCOPE) : undefined;
}

const faultOf = (which: string, most: number): string =>
  `The roles of ${which} have at most ${most} bytes of grants together, and count ${EACH_GRANT} more for each grant and ${EACH_TEMPLATE} for each template.`;
