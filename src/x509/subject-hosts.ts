/**
 * What a client may take a subject's common name for. Certificates without DNS names are matched by
 * it (RFC 6125 §6.4.4, and OpenSSL to this day), and more widely than constraints are applied: a
 * verifier that finds no host name in it does not judge it, and matches it all the same.
 */

import { domainInAscii } from '../core/domain-names.ts';
import { withoutTrailing } from '../core/edges.ts';

/** Characters that end a host name wherever one is written, and blanks. */
const NOT_IN_HOST = /[\s\p{Cc}#/:<>?@[\\\]%]/u;
const ASCII = /^[\x20-\x7e]*$/;

/**
 * The host name that a common name reads like: with a dot inside, or with a `*`, which no name of a
 * person or an organisation has. Other scripts as A-labels; a final dot is kept as one.
 *
 * @returns undefined for what no client matches a host by
 */
export function findHostInSubject(common_name: string): string | undefined {
  const hasStar = common_name.includes('*');
  const name = hasStar || !NOT_IN_HOST.test(common_name) ? toAscii(common_name) : '';
  const bare = withoutTrailing(name, '.');
  if (!bare.includes('.') && !hasStar) return undefined;
  return bare.length < name.length ? `${bare}.` : bare;
}

/** A common name of one label, which is a host of the local network's to those who ask for it so. */
export function findLabelInSubject(common_name: string): string | undefined {
  if (common_name === '' || NOT_IN_HOST.test(common_name)) return undefined;
  const bare = withoutTrailing(toAscii(common_name), '.');
  return bare === '' || bare.includes('.') || bare.includes('*') ? undefined : bare;
}

/** What cannot be converted is left as it is: no subtree permits it. */
function toAscii(name: string): string {
  return ASCII.test(name) ? name : domainInAscii(name) || name;
}
