import { MOST_OF_ORG, MOST_OF_SCOPE } from './grant-room.ts';

// Whoever may make roles and groups in one org may name users of any other: what one org can make of them is
// bounded, so that it takes neither the server nor somebody else's user for itself. Of each of these, an org
// counts with its projects; `global` counts by itself.

/** What one scope of an org can have of what the org can: nobody takes the room of all others. */
export const partOf = (most: number): number => Math.floor(most / 3);

/** Those that name everybody are looked at for everybody. */
export const MOST_ROLES = 10_000;
export const MOST_GROUPS = 10_000;
/** Members of all groups: each group that somebody is in counts. */
export const MOST_MEMBERS = 100_000;
/** Principals of all roles: when somebody comes who has all of them, they are looked through. */
export const MOST_PRINCIPALS = 50_000;
/** Groups that one user is in: his roles are looked for by each of them. */
export const MOST_GROUPS_OF_USER = 1_000;

/** Host sets that one host is in: each is shown wherever the host is. */
export const MOST_SETS_OF_HOST = 64;
/** Aliases of one target, which are shown with it. */
export const MOST_ALIASES_OF_TARGET = 100;

const OF = 'of an org with its projects, or of global,';
/** An org itself is one of its scopes, as are its projects. */
const PART = (most: number): string => `${partOf(most)} in a single scope of an org`;

/** What a change is refused with that would pass a bound. */
export const BOUNDS = {
  grants: `The roles of a scope have at most ${MOST_OF_SCOPE} bytes of grants together, and those ${OF} at most ${MOST_OF_ORG}.`,
  roles: `There can be at most ${MOST_ROLES} roles ${OF} and ${PART(MOST_ROLES)}, and they are there already.`,
  groups: `There can be at most ${MOST_GROUPS} groups ${OF} and ${PART(MOST_GROUPS)}, and they are there already.`,
  members: `The groups ${OF} can have at most ${MOST_MEMBERS} members together and ${PART(MOST_MEMBERS)}, a user counting for each group.`,
  principals: `The roles ${OF} can have at most ${MOST_PRINCIPALS} principals together and ${PART(MOST_PRINCIPALS)}, each counting for each role.`,
  groups_of_user: `A user can be in at most ${MOST_GROUPS_OF_USER} groups ${OF} and ${PART(MOST_GROUPS_OF_USER)}, and one that is named is already.`,
  sets_of_host: `A host can be in at most ${MOST_SETS_OF_HOST} host sets, and one that is named is already.`,
  aliases_of_target: `A target can have at most ${MOST_ALIASES_OF_TARGET} aliases, and has them already.`,
} as const;

const TEXTS: ReadonlySet<string> = new Set(Object.values(BOUNDS));

/** Whether a write set was refused for one of these bounds. */
export const isBound = (message: string): boolean => TEXTS.has(message);
