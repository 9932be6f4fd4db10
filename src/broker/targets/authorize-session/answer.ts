import { z } from 'zod';
import type { Immutable } from '../../../core/immutable.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import { scopeSummary } from '../../resource/common-fields.ts';
import { describeScope, formatTime, type Resource, type Scope } from '../../resource/resource.ts';
import { encodeAuthorizationToken } from '../../sessions/authorization-token.ts';
import {
  type SessionCredential,
  sessionCredential,
} from '../../sessions/credentials/credential.ts';
import type { TargetBody } from '../target.ts';
import type { PlannedSession } from './planned-session.operations.ts';

/** The answer to an authorization. */
export const authorization = z.object({
  session_id: z.string(),
  target_id: z.string(),
  scope: scopeSummary,
  created_time: z.string(),
  user_id: z.string(),
  host_set_id: z.string().optional(),
  host_id: z.string().optional(),
  type: z.string().describe('Of the target.'),
  authorization_token: z.string().describe('What a client shows to a worker.'),
  connection_limit: z.int().describe('-1: unlimited.'),
  endpoint: z.string(),
  endpoint_port: z.int(),
  expiration: z.string(),
  credentials: z.array(sessionCredential).optional(),
  session_recording_id: z.string().optional().describe('Where it is recorded.'),
});

export type Authorization = Immutable<z.output<typeof authorization>>;

/** Grants take no field out of it. @see B-74 */
export function describeAuthorization(
  { target, scope }: { target: Resource<TargetBody>; scope: Scope },
  session: PlannedSession,
  given: {
    user_id: string;
    credentials: readonly SessionCredential[];
    session_recording_id: string;
  },
): Authorization {
  const { id, endpoint, url, port, created_ms, expires_ms } = session;
  const { session_connection_limit: connection_limit, default_client_port } = target.body;
  const { host_id, host_set_id } = endpoint;
  return {
    session_id: id,
    target_id: target.id,
    scope: describeScope(scope),
    created_time: formatTime(created_ms),
    user_id: given.user_id,
    ...omitEmpty({ host_set_id, host_id }),
    type: target.subtype,
    authorization_token: encodeAuthorizationToken({
      session_id: id,
      target_id: target.id,
      scope: {
        id: scope.id,
        type: scope.type,
        name: scope.name ?? '',
        description: scope.description ?? '',
        parent_scope_id: scope.parent_scope_id,
      },
      created_ms,
      type: target.subtype,
      connection_limit,
      endpoint_port: port,
      expires_ms,
      certificate: session.certificate,
      private_key: session.private_key,
      host_id,
      endpoint: url,
      worker_addresses: session.worker_addresses,
      default_client_port,
    }),
    connection_limit,
    endpoint: url,
    endpoint_port: port,
    expiration: formatTime(expires_ms),
    ...omitEmpty({
      credentials: given.credentials,
      session_recording_id: given.session_recording_id,
    }),
  };
}
