import { decodeBase58, encodeBase58 } from '../../core/base58.ts';
import { ProtobufError, ProtobufFields, ProtobufWriter } from '../../core/protobuf.ts';

/** All that a proxy needs to use a session. */
export interface SessionAuthorization {
  session_id: string;
  target_id: string;
  scope: {
    id: string;
    type: string;
    name: string;
    description: string;
    parent_scope_id: string;
  };
  /** Unix milliseconds, as `expires_ms`. */
  created_ms: number;
  /** `tcp`, `ssh`, `rdp`. */
  type: string;
  /** -1: unlimited. */
  connection_limit: number;
  endpoint_port: number;
  expires_ms: number;
  /** DER. */
  certificate: Uint8Array;
  /** Ed25519: 32 bytes of seed and 32 of the public key. */
  private_key: Uint8Array;
  /** Empty for a target with an address of its own. */
  host_id: string;
  /** e.g. `tcp://10.0.0.5:22` */
  endpoint: string;
  /** `host:port` of the workers; clients use the first. */
  worker_addresses: readonly string[];
  /** 0 for none. */
  default_client_port: number;
}

/** The protobuf encoding of SessionAuthorizationData in base58. */
export function encodeAuthorizationToken(authorization: SessionAuthorization): string {
  return encodeBase58(encodeAuthorization(authorization));
}

/** The message within a token. @see B-81 */
export function encodeAuthorization(a: SessionAuthorization): Uint8Array {
  const { scope } = a;
  const message = new ProtobufWriter()
    .string(10, a.session_id)
    .string(20, a.target_id)
    .message(
      30,
      new ProtobufWriter()
        .string(1, scope.id)
        .string(2, scope.type)
        .string(3, scope.name)
        .string(4, scope.description)
        .string(5, scope.parent_scope_id),
    )
    .message(40, timestamp(a.created_ms))
    .string(80, a.type)
    .integer(90, a.connection_limit)
    .integer(102, a.endpoint_port)
    .message(105, timestamp(a.expires_ms))
    .bytes(120, a.certificate)
    .bytes(130, a.private_key)
    .string(140, a.host_id)
    .string(141, a.endpoint);
  for (const address of a.worker_addresses) {
    message.message(150, new ProtobufWriter().string(10, address));
  }
  return message.integer(160, a.default_client_port).finish();
}

function timestamp(ms: number): ProtobufWriter {
  const seconds = Math.floor(ms / 1000);
  return new ProtobufWriter().integer(1, seconds).integer(2, (ms - seconds * 1000) * 1_000_000);
}

function readTimestamp(fields: ProtobufFields | undefined): number {
  return fields ? fields.integer(1) * 1000 + Math.floor(fields.integer(2) / 1_000_000) : 0;
}

/** @returns undefined for text that is no token */
export function decodeAuthorizationToken(text: string): SessionAuthorization | undefined {
  const bytes = decodeBase58(text);
  if (!bytes) return undefined;
  try {
    return readAuthorization(new ProtobufFields(bytes));
  } catch (error) {
    if (error instanceof ProtobufError) return undefined;
    throw error;
  }
}

function readAuthorization(fields: ProtobufFields): SessionAuthorization {
  const [scope] = fields.messages(30);
  return {
    session_id: fields.string(10),
    target_id: fields.string(20),
    scope: {
      id: scope?.string(1) ?? '',
      type: scope?.string(2) ?? '',
      name: scope?.string(3) ?? '',
      description: scope?.string(4) ?? '',
      parent_scope_id: scope?.string(5) ?? '',
    },
    created_ms: readTimestamp(fields.messages(40)[0]),
    type: fields.string(80),
    connection_limit: fields.integer(90),
    endpoint_port: fields.integer(102),
    expires_ms: readTimestamp(fields.messages(105)[0]),
    certificate: fields.bytes(120),
    private_key: fields.bytes(130),
    host_id: fields.string(140),
    endpoint: fields.string(141),
    worker_addresses: fields.messages(150).map((worker) => worker.string(10)),
    default_client_port: fields.integer(160),
  };
}
