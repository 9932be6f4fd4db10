/** `uri-host [ ":" port ]` of RFC 3986 §3.2.2, without the comma that joins two fields into one. */
const HOST = /^(?:\[[0-9A-Za-z:.]{2,60}\]|[A-Za-z0-9._~!$&'()*+;=%-]{1,255})(?::\d{0,5})?$/;

/**
 * Why a request cannot be taken for what it says it is meant for. Two programs that choose differently
 * between two `Host` fields see two different requests.
 *
 * @param raw_headers names and values in turn, as they came
 * @returns undefined where there is nothing to object to
 * @see RFC 9112 §3.2
 */
export function faultOfHost(raw_headers: readonly string[], version: string): string | undefined {
  let host: string | undefined;
  for (let at = 0; at < raw_headers.length; at += 2) {
    const name = raw_headers[at];
    if (name?.length !== 4 || name.toLowerCase() !== 'host') continue;
    if (host !== undefined) return 'the request has more than one Host header';
    host = raw_headers[at + 1] ?? '';
  }
  if (host === undefined) {
    return version === '1.1' ? 'the request has no Host header' : undefined;
  }
  return HOST.test(host) ? undefined : "the request's Host header names no host";
}
