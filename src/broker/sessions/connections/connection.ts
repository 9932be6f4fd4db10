import { z } from 'zod';
import { omitEmpty } from '../../../core/omit-empty.ts';

/** Why a connection was closed. */
export const CLOSED_REASONS = [
  'unknown',
  'timed out',
  'closed by end-user',
  'canceled',
  'network error',
  'system error',
  // Of endpoints that speak SSH, where the worker logs in.
  'host key refused',
  'log-in refused',
] as const;
export type ClosedReason = (typeof CLOSED_REASONS)[number];

/** Both ends of a connection as the worker sees them. */
export interface ConnectionEnds {
  client_tcp_address: string;
  client_tcp_port: number;
  endpoint_tcp_address: string;
  endpoint_tcp_port: number;
}

/** Characters of the token that a client proves with that it is the one that began. */
export const TOFU_LENGTH = 20;

export const sessionConnection = z.object({
  client_tcp_address: z.string().optional(),
  client_tcp_port: z.int().optional(),
  endpoint_tcp_address: z.string().optional(),
  endpoint_tcp_port: z.int().optional(),
  bytes_up: z.string().optional().describe('A number as text.'),
  bytes_down: z.string().optional().describe('A number as text.'),
  closed_reason: z.string().optional().describe('Absent while it is open.'),
});

/** What shows of a connection; counts of bytes are texts. */
export function describeConnection(
  connection: ConnectionEnds & { bytes_up: number; bytes_down: number; closed_reason: string },
): z.output<typeof sessionConnection> {
  const { bytes_up, bytes_down } = connection;
  return omitEmpty({
    client_tcp_address: connection.client_tcp_address,
    client_tcp_port: connection.client_tcp_port,
    endpoint_tcp_address: connection.endpoint_tcp_address,
    endpoint_tcp_port: connection.endpoint_tcp_port,
    bytes_up: bytes_up === 0 ? '' : String(bytes_up),
    bytes_down: bytes_down === 0 ? '' : String(bytes_down),
    closed_reason: connection.closed_reason,
  });
}
