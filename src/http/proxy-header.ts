import { isIP } from 'node:net';

/**
 * What stands at the beginning of a connection that a balancer passes on: the PROXY protocol, versions 1 and 2, as
 * HAProxy describes it.
 */
type ProxyHeader =
  /** It has not come to its end. */
  | 'incomplete'
  | 'malformed'
  /** `address` of the client; absent where the proxy speaks for itself, or does not know. */
  | { length: number; address?: string };

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const V1 = Buffer.from('PROXY ', 'latin1');
/** Of version 1, with its end of line. */
const V1_LONGEST = 107;
/** A header of version 2 may have more for its own kind of network; nobody sends so much. */
const V2_LONGEST = 2048;
const V2_HEAD = 16;

/** @param bytes what has come */
export function parseProxyHeader(bytes: Buffer): ProxyHeader {
  if (begins(bytes, V1)) return bytes.length < V1.length ? 'incomplete' : parseText(bytes);
  if (begins(bytes, SIGNATURE)) return bytes.length < V2_HEAD ? 'incomplete' : parseBinary(bytes);
  return 'malformed';
}

/** Whether what has come is the beginning, as far as it has come. */
function begins(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length);
  return bytes.subarray(0, length).equals(start.subarray(0, length));
}

function parseText(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, V1_LONGEST).indexOf('\r\n', 0, 'latin1');
  if (end < 0) return bytes.length < V1_LONGEST ? 'incomplete' : 'malformed';
  const length = end + 2;
  const words = bytes.subarray(V1.length, end).toString('latin1').split(' ');
  const [family, source = '', destination = '', from = '', to = '', ...more] = words;
  if (family === 'UNKNOWN') return { length };
  const version = family === 'TCP4' ? 4 : family === 'TCP6' ? 6 : undefined;
  const isWhole =
    version !== undefined &&
    isIP(source) === version &&
    isIP(destination) === version &&
    isPort(from) &&
    isPort(to) &&
    more.length === 0 &&
    !source.includes('%');
  return isWhole ? { length, address: source } : 'malformed';
}

const isPort = (text: string): boolean =>
  /^(?:0|[1-9]\d{0,4})$/.test(text) && Number(text) < 65_536;

const LOCAL = 0x20;
const PROXY = 0x21;
const TCP4 = 0x11;
const TCP6 = 0x21;

function parseBinary(bytes: Buffer): ProxyHeader {
  const [command, family] = bytes.subarray(12, 14);
  const length = V2_HEAD + bytes.readUInt16BE(14);
  if (length > V2_LONGEST) return 'malformed';
  if (bytes.length < length) return 'incomplete';
  if (command === LOCAL) return { length };
  if (command !== PROXY) return 'malformed';
  if (family !== TCP4 && family !== TCP6) return { length };
  const size = family === TCP4 ? 4 : 16;
  // Both addresses, then both ports.
  if (length < V2_HEAD + 2 * size + 4) return 'malformed';
  const address = bytes.subarray(V2_HEAD, V2_HEAD + size);
  return { length, address: family === TCP4 ? address.join('.') : groupsOf(address) };
}

/** As an IPv6 address is written whole; it is compared by its value wherever that matters. */
function groupsOf(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(2 * at).toString(16));
  return groups.join(':');
}
