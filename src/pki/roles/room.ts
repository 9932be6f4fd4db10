import { invalid } from '../../core/failure.ts';
import type { Role } from './role.ts';

/** Of one role as JSON: what a request's body can make, but for what JSON adds. */
export const MOST_OF_ROLE = 1 << 20;

/** So many fields are named at most, and none that are shorter. */
const NAMED = { count: 3, bytes: 1024 };

/**
 * Refuses a role that has more than one request can bring: its lists have bounds one by one, and it would grow with
 * each of them. What was longer before there was this bound stays, and may become shorter.
 *
 * @throws Failure `invalid` naming the longest fields
 */
export function requireRoom(before: Role | undefined, next: Role): void {
  const bytes = jsonBytes(next);
  if (bytes <= MOST_OF_ROLE || (before && bytes <= jsonBytes(before))) return;
  const longest = listLongest(next);
  throw invalid(
    `the role would have ${bytes} bytes as JSON, and may have at most ${MOST_OF_ROLE}: its longest fields are ${longest.join(', ')}`,
    { fields: Object.fromEntries(longest.map((name) => [name, 'less of it'])) },
  );
}

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

function listLongest(role: Role): string[] {
  return Object.entries(role)
    .map(([name, value]) => ({ name, bytes: jsonBytes(value) }))
    .filter(({ bytes }) => bytes > NAMED.bytes)
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, NAMED.count)
    .map(({ name }) => name);
}
