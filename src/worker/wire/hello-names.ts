/** What a TLS client says in its first message of whom it wants to speak to. */
export interface HelloNames {
  /** Empty when it names none, as for an IP address. */
  server_name: string;
  /** Protocols of ALPN (RFC 7301), in the client's order. */
  protocols: readonly string[];
}

const SERVER_NAME = 0;
const ALPN = 16;
const HOST_NAME = 0;
const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const RECORD_HEAD = 5;

/**
 * Reads the names of a ClientHello (RFC 8446 §4.1.2, RFC 6066 §3, RFC 7301 §3.1).
 *
 * @param records as they came: one or more TLS records that hold the message
 * @returns undefined for bytes that are none, or end before the message does
 */
export function readHelloNames(records: Uint8Array): HelloNames | undefined {
  try {
    return readNames(new Reader(joinRecords(records)));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** The message within its records. */
function joinRecords(bytes: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [];
  const reader = new Reader(bytes);
  while (reader.left >= RECORD_HEAD) {
    if (reader.number(1) !== HANDSHAKE) break;
    reader.take(2);
    parts.push(reader.take(reader.number(2)));
  }
  return Buffer.concat(parts);
}

function readNames(reader: Reader): HelloNames {
  if (reader.number(1) !== CLIENT_HELLO) throw new RangeError('another message');
  const message = new Reader(reader.take(reader.number(3)));
  // Version and random value, then session id, cipher suites and compression methods.
  message.take(2 + 32);
  message.take(message.number(1));
  message.take(message.number(2));
  message.take(message.number(1));
  const names = { server_name: '', protocols: [] as readonly string[] };
  if (message.left === 0) return names;
  const extensions = new Reader(message.take(message.number(2)));
  while (extensions.left > 0) {
    const type = extensions.number(2);
    const body = new Reader(extensions.take(extensions.number(2)));
    if (type === SERVER_NAME) names.server_name = readServerName(body);
    else if (type === ALPN) names.protocols = readProtocols(body);
  }
  return names;
}

function readServerName(body: Reader): string {
  const list = new Reader(body.take(body.number(2)));
  while (list.left > 0) {
    const type = list.number(1);
    const name = list.take(list.number(2));
    if (type === HOST_NAME) return Buffer.from(name).toString('latin1');
  }
  return '';
}

function readProtocols(body: Reader): string[] {
  const list = new Reader(body.take(body.number(2)));
  const protocols: string[] = [];
  while (list.left > 0) protocols.push(Buffer.from(list.take(list.number(1))).toString('latin1'));
  return protocols;
}

/** Takes bytes from the front; past the end is a `RangeError`. */
class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  take(length: number): Uint8Array {
    if (length > this.left) throw new RangeError('the message ends before its part does');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  /** Big-endian, of so many bytes. */
  number(bytes: number): number {
    return this.take(bytes).reduce((value, byte) => value * 256 + byte, 0);
  }
}

const SESSION_ID = /^s_[0-9A-Za-z]{1,64}$/;

/** The session that a client comes for: its server name, or the first protocol that is one. */
export function sessionOf({ server_name, protocols }: HelloNames): string | undefined {
  return [server_name, ...protocols].find((name) => SESSION_ID.test(name));
}
