import { invalid } from '../core/failure.ts';

/** Numbers of RFC 5424 §6.2.1. */
export const FACILITIES: Readonly<Record<string, number>> = {
  kern: 0,
  user: 1,
  mail: 2,
  daemon: 3,
  auth: 4,
  syslog: 5,
  lpr: 6,
  news: 7,
  uucp: 8,
  cron: 9,
  authpriv: 10,
  ftp: 11,
  local0: 16,
  local1: 17,
  local2: 18,
  local3: 19,
  local4: 20,
  local5: 21,
  local6: 22,
  local7: 23,
};

export const SYSLOG_FACILITIES: readonly string[] = Object.keys(FACILITIES);

export type SyslogAddress =
  | { transport: 'unix'; path: string }
  | { transport: 'udp' | 'tcp'; host: string; port: number };

/**
 * Reads where a syslog server listens: `unix:///dev/log`, `udp://HOST:PORT` or `tcp://HOST:PORT`;
 * without a port 514 (RFC 5426) or 601 (RFC 6587).
 *
 * @param what the setting's name, for the refusal
 */
export function parseSyslogAddress(what: string, text: string): SyslogAddress {
  const path = /^unix:\/\/(\/.+)$/.exec(text)?.[1];
  if (path !== undefined) return { transport: 'unix', path };
  const parts = /^(udp|tcp):\/\/(?:\[([0-9a-fA-F:.]+)\]|([^:/[\]]+))(?::(\d{1,5}))?$/.exec(text);
  const transport = parts?.[1];
  const host = parts?.[2] ?? parts?.[3];
  const port = Number(parts?.[4] ?? (transport === 'tcp' ? 601 : 514));
  if ((transport !== 'udp' && transport !== 'tcp') || !host || port < 1 || port > 65535) {
    throw invalid(
      `${what} must be like "unix:///dev/log", "udp://HOST:514" or "tcp://HOST:601"${text.includes('@') ? '' : `, not "${text}"`}`,
    );
  }
  return { transport, host, port };
}
