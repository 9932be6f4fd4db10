import { isIP, isIPv4 } from 'node:net';
import { partyOf } from './fairness/party.ts';

/**
 * Says whether a request is meant for this server by its `Host` header. A page of somebody else's
 * whose name was made to lead here (DNS rebinding) names itself there, and is told nothing.
 *
 * @param request.host          the header; undefined: there is none
 * @param request.local_address the end of the connection that is ours
 * @param allowed names and addresses besides the loopback ones and the connection's own, lower case
 */
export function isOwnHost(
  request: { host: string | undefined; local_address: string | undefined },
  allowed: readonly string[],
): boolean {
  const name = bareHost(request.host ?? '');
  if (name === '') return false;
  if (name === 'localhost' || allowed.includes(name)) return true;
  if (isIP(name) === 0) return false;
  if (name === '::1' || (isIPv4(name) && name.startsWith('127.'))) return true;
  // A dual-stack socket shows IPv4 addresses in the other form.
  const own = request.local_address ?? '';
  return name === own || (isIPv4(name) && partyOf(own) === name);
}

/** The name or address of a `Host` header or setting, without port and final dot; empty for what is neither. */
export function bareHost(text: string): string {
  const parts = /^(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9._-]{1,255}))(?::\d{1,5})?$/.exec(text);
  return (parts?.[1] ?? parts?.[2]?.replace(/\.$/, '') ?? '').toLowerCase();
}
