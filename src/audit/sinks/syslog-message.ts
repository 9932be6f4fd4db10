import { FACILITIES } from '../../config/syslog.ts';
import { encodeOmittedLine, encodeSinkLine } from '../sink-line.ts';
import type { FedRecord } from './sink.ts';

const SEVERITY_INFO = 6;

export interface SyslogHeader {
  facility: string;
  /** APP-NAME, at most 48 printing characters. */
  tag: string;
  hostname: string;
  pid: number;
}

/** One message (RFC 5424 §6) with the record as its text, without any framing. */
export function encodeSyslogMessage(header: SyslogHeader, record: FedRecord): string {
  return prefixOf(header, record) + encodeSinkLine(record);
}

/** As {@link encodeSyslogMessage}; what does not fit into `limit` bytes is told of, not cut. */
export function encodeSyslogDatagram(
  header: SyslogHeader,
  record: FedRecord,
  limit: number,
): Buffer {
  const whole = Buffer.from(encodeSyslogMessage(header, record));
  if (whole.length <= limit) return whole;
  return Buffer.from(prefixOf(header, record) + encodeOmittedLine(record));
}

/** Octet counting: a message's length in bytes goes before it (RFC 6587 §3.4.1). */
export function frameSyslogMessage(message: string): string {
  return `${Buffer.byteLength(message)} ${message}`;
}

function prefixOf({ facility, tag, hostname, pid }: SyslogHeader, record: FedRecord): string {
  const priority = (FACILITIES[facility] ?? 4) * 8 + SEVERITY_INFO;
  const time = new Date(record.time_ms).toISOString();
  const [host, app] = [printing(hostname, 255), printing(tag, 48)];
  return `<${priority}>1 ${time} ${host} ${app} ${pid} audit - `;
}

/** PRINTUSASCII without spaces, or the nil value. */
function printing(text: string, most: number): string {
  return text.replace(/[^!-~]/g, '_').slice(0, most) || '-';
}
