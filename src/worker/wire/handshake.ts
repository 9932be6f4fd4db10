import { ProtobufError, ProtobufFields, ProtobufWriter } from '../../core/protobuf.ts';

// What client and worker say to each other before the session's bytes: one message each way.

/** The subprotocol that both agree on; each of its binary messages is a piece of the stream. */
export const SUBPROTOCOL = 'boundary-tcp-proxy-v1';
/** Where the proxy is. */
export const PROXY_PATH = '/v1/proxy';

const COMMAND = { none: 0, cancel: 1 } as const;

export interface ClientHandshake {
  /** Proves that the client is the one that used the session first. */
  tofu_token: string;
  /** Asks for nothing but the session's end. */
  cancels: boolean;
}

export interface HandshakeResult {
  /** Unix milliseconds. */
  expires_ms: number;
  /** -1: unlimited, in both. */
  connection_limit: number;
  connections_left: number;
}

export function encodeClientHandshake({ tofu_token, cancels }: ClientHandshake): Uint8Array {
  return new ProtobufWriter()
    .string(10, tofu_token)
    .integer(20, cancels ? COMMAND.cancel : COMMAND.none)
    .finish();
}

/** @returns undefined for bytes that are no handshake, or ask for what is not known */
export function decodeClientHandshake(bytes: Uint8Array): ClientHandshake | undefined {
  return decode(bytes, (fields) => {
    const command = fields.integer(20);
    if (command !== COMMAND.none && command !== COMMAND.cancel) return undefined;
    return { tofu_token: fields.string(10), cancels: command === COMMAND.cancel };
  });
}

export function encodeHandshakeResult(result: HandshakeResult): Uint8Array {
  const seconds = Math.floor(result.expires_ms / 1000);
  const expiration = new ProtobufWriter()
    .integer(1, seconds)
    .integer(2, (result.expires_ms - seconds * 1000) * 1_000_000);
  return new ProtobufWriter()
    .message(10, expiration)
    .integer(20, result.connection_limit)
    .integer(30, result.connections_left)
    .finish();
}

/** @returns undefined for bytes that are none */
export function decodeHandshakeResult(bytes: Uint8Array): HandshakeResult | undefined {
  return decode(bytes, (fields) => {
    const [expiration] = fields.messages(10);
    const seconds = expiration?.integer(1) ?? 0;
    return {
      expires_ms: seconds * 1000 + Math.floor((expiration?.integer(2) ?? 0) / 1_000_000),
      connection_limit: fields.integer(20),
      connections_left: fields.integer(30),
    };
  });
}

function decode<Message>(
  bytes: Uint8Array,
  read: (fields: ProtobufFields) => Message | undefined,
): Message | undefined {
  try {
    return read(new ProtobufFields(bytes));
  } catch (error) {
    if (error instanceof ProtobufError) return undefined;
    throw error;
  }
}
