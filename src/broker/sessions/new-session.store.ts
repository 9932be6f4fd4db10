import { preparedWrite } from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';
import type { Write } from '../../store/write.ts';

/** What a session ends with: one of these, the others are empty. */
export interface SessionHolder {
  /** The log-in of whoever authorizes it. */
  auth_token_id: string;
  /** Of a caller whose log-in is of the Vault API: the row of their token, … */
  token_id: string;
  /** … or the alias by which they came, where their token has none. */
  alias_id: string;
  /** The mount by which they came in with that. */
  auth_mount_id: string;
}

/** A session before its first connection. */
export interface NewSession {
  id: string;
  scope_id: string;
  user_id: string;
  /** `tcp`, `ssh`, `rdp`. */
  type: string;
  target: { id: string; version: number };
  holder: SessionHolder;
  host_set_id: string;
  host_id: string;
  endpoint: string;
  connection_limit: number;
  created_ms: number;
  expires_ms: number;
  worker_filter: string;
  /** Absent: clients come to the workers that reach the endpoint. */
  ingress_worker_filter?: string;
  injects: boolean;
  certificate: Uint8Array;
  private_key_sealed: Uint8Array;
}

interface SessionReferences {
  target_id: string;
  target_version: number;
  /** The log-in, or the user where there is none. */
  holder_id: string;
}

const hold = preparedHold<SessionReferences & Record<string, string | number>>(
  (from, p) =>
    from
      .selectFrom(['resource as target', 'resource as holder'])
      .select('target.id')
      .where('target.id', '=', p.target_id)
      .where('target.version', '=', p.target_version)
      .where('holder.id', '=', p.holder_id)
      .forShare('target')
      .forKeyShare('holder'),
  { rows: 1 },
);

const holdWithHost = preparedHold<
  SessionReferences & { host_set_id: string; host_id: string } & Record<string, string | number>
>(
  (from, p) =>
    from
      .selectFrom([
        'resource as target',
        'resource as holder',
        'resource as host_set',
        'resource as host',
        'resource_link as member',
      ])
      .select('target.id')
      .where('target.id', '=', p.target_id)
      .where('target.version', '=', p.target_version)
      .where('holder.id', '=', p.holder_id)
      .where('host_set.id', '=', p.host_set_id)
      .where('host.id', '=', p.host_id)
      .where('member.from_id', '=', p.host_set_id)
      .where('member.kind', '=', 'host-set-host')
      .where('member.to_id', '=', p.host_id)
      .forShare('target')
      .forKeyShare(['holder', 'host_set', 'host', 'member']),
  { rows: 1 },
);

const insertRow = preparedWrite<{
  id: string;
  scope_id: string;
  user_id: string;
  type: string;
  created_ms: number;
}>(
  (into, p) =>
    into.insertInto('resource').values({
      id: p.id,
      type: 'session',
      subtype: p.type,
      scope_id: p.scope_id,
      container_id: p.scope_id,
      owner_id: p.user_id,
      version: 1,
      created_ms: p.created_ms,
      updated_ms: p.created_ms,
      body: '{}',
    }),
  { rows: 1 },
);

const insertFacts = preparedWrite<{
  id: string;
  target_id: string;
  host_set_id: string;
  host_id: string;
  auth_token_id: string;
  token_id: string;
  alias_id: string;
  auth_mount_id: string;
  user_id: string;
  endpoint: string;
  connection_limit: number;
  created_ms: number;
  expires_ms: number;
  worker_filter: string;
  ingress_worker_filter: string;
  injects: number;
  certificate: Uint8Array;
  private_key_sealed: Uint8Array;
}>(
  (into, p) =>
    into.insertInto('session').values({
      id: p.id,
      target_id: p.target_id,
      host_set_id: p.host_set_id,
      host_id: p.host_id,
      auth_token_id: p.auth_token_id,
      token_id: p.token_id,
      alias_id: p.alias_id,
      auth_mount_id: p.auth_mount_id,
      user_id: p.user_id,
      status: 'pending',
      endpoint: p.endpoint,
      connection_limit: p.connection_limit,
      expires_ms: p.expires_ms,
      worker_filter: p.worker_filter,
      ingress_worker_filter: p.ingress_worker_filter,
      injects: p.injects,
      certificate: p.certificate,
      private_key_sealed: p.private_key_sealed,
      tofu_sealed: null,
      created_ms: p.created_ms,
      active_ms: null,
      canceling_ms: null,
      terminated_ms: null,
      termination_reason: '',
      connections: 0,
      open_connections: 0,
      due_ms: p.expires_ms,
      used_ms: p.created_ms,
      left_ms: 0,
    }),
  { rows: 1 },
);

/**
 * Makes a pending session, if its target is still as it was read, its host still in the host
 * set, and the log-in (or the user) still there.
 */
export function insertSession(session: NewSession): Write[] {
  const { target, user_id, holder, ...facts } = session;
  const { id, scope_id, type, created_ms, host_set_id, host_id } = facts;
  const references = {
    target_id: target.id,
    target_version: target.version,
    holder_id: holder.auth_token_id === '' ? user_id : holder.auth_token_id,
  };
  return [
    host_id === ''
      ? hold({ ...references })
      : holdWithHost({ ...references, host_set_id, host_id }),
    insertRow({ id, scope_id, user_id, type, created_ms }),
    insertFacts({
      id,
      target_id: target.id,
      host_set_id,
      host_id,
      auth_token_id: holder.auth_token_id,
      token_id: holder.token_id,
      alias_id: holder.alias_id,
      auth_mount_id: holder.auth_mount_id,
      user_id,
      endpoint: facts.endpoint,
      connection_limit: facts.connection_limit,
      created_ms,
      expires_ms: facts.expires_ms,
      worker_filter: facts.worker_filter,
      ingress_worker_filter: facts.ingress_worker_filter ?? '',
      injects: facts.injects ? 1 : 0,
      certificate: facts.certificate,
      private_key_sealed: facts.private_key_sealed,
    }),
  ];
}
