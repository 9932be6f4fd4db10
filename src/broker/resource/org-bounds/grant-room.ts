import type { RoleBody } from '../grants/role.ts';
import type { Resource } from '../resource.ts';
import { BROUGHT_BODIES } from './brought.ts';

// All users whom a role is for have its grants in memory, and each of their requests is judged by them.
// Whoever may add roles in one org must not fill the server with them: what all of its roles come to, filed for
// whoever asks, is to be kept, and filed in less time than a request takes.

/** What the grants of all roles of an org with its projects come to at most, or of `global` by itself. */
export const MOST_OF_ORG = 3 << 20;
/** The same of a single scope: all of it may hold in one place. */
export const MOST_OF_SCOPE = 1 << 20;

/** What a role comes to besides its grants: it is read and filed by itself, however little it grants. */
export const EACH_ROLE = 3072;
/** What a grant comes to besides its characters: a short one takes no less when it is filed. */
export const EACH_GRANT = 288;
/** What an action or a field comes to, of however few characters. */
const EACH_NAME = 40;
/** What an id comes to: grants are filed by each. */
const EACH_ID = 96;
/** What a template comes to: whoever has it is asked about besides. */
const EACH_TEMPLATE = 512;

/**
 * What tells in a body's text how many there are of each, and what it comes to. An id has a low line, which may
 * be written with an escape where the grant is JSON; names have commas between them, as grants have.
 */
export const COUNTED: readonly (readonly [mark: string, bytes: number])[] = [
  ['","', EACH_GRANT - EACH_NAME],
  [',', EACH_NAME],
  ['_', EACH_ID - EACH_NAME],
  ['\\u', EACH_ID - EACH_NAME],
  ['{{', EACH_TEMPLATE],
];

/** What counts in each body: low lines of the names of its fields are no ids. */
export const EACH_BODY = EACH_ROLE - 3 * (EACH_ID - EACH_NAME);

/** What a role's body comes to, as the database works it out. */
export function sizeOfGrants(body: RoleBody): number {
  const text = JSON.stringify(body);
  const counted = COUNTED.map(([mark, bytes]) => (text.split(mark).length - 1) * bytes);
  return counted.reduce((sum, bytes) => sum + bytes, Buffer.byteLength(text) + EACH_BODY);
}

/** A role that callers make begins without grants: with those that scopes begin with this is only their version. */
export const FIRST_VERSION = 1;

/**
 * What a role comes to as it is, or nothing while it is as its scope brought it: it is for one user, or for
 * everybody, and there are as many as projects. Others of the very same grants count, since anybody may make those.
 */
export function sizeOfRole({
  version,
  body,
}: Pick<Resource<RoleBody>, 'version' | 'body'>): number {
  const isAsBrought = version === FIRST_VERSION && BROUGHT_BODIES.includes(JSON.stringify(body));
  return isAsBrought ? 0 : sizeOfGrants(body);
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
  `The roles of ${which} have at most ${most} bytes of grants together, and count ${EACH_ROLE} more for each role, ${EACH_GRANT} for each grant, ${EACH_ID} for each id, ${EACH_NAME} for each action and each output field, and ${EACH_TEMPLATE} for each template; those that scopes began with count once they are changed.`;
