import type { ColumnType, GeneratedAlways } from 'kysely';

/**
 * The rows of every table, as queries see them. A feature adds its table here and creates
 * it in its migration.
 *
 * Three types only: `string`, `number` (a whole number within ±(2^53 − 1)) and `Uint8Array`.
 * Booleans are 0 or 1, instants are seconds since 1970 (milliseconds where the name ends in
 * `_ms`), JSON is text, and a column that holds a sealed secret ends in `_sealed`.
 */
export interface Tables {
  /** One row; grows with every write set that changes configuration. */
  config_version: {
    id: 1;
    version: number;
    /** Made anew when the database is restored; empty: it never was. */
    incarnation: string;
  };
  /** How often a subject of the configuration was changed; counted by triggers, see `config-subject.ts`. */
  config_subject: {
    subject: string;
    version: number;
  };
  /** One row; grows whenever somebody may be permitted less than before. */
  permission_version: {
    id: 1;
    version: number;
  };
  job_lease: JobLeaseRow;
  /** One audit record, chained to the one before it of the same node; see `core/record-chain.ts`. */
  audit_entry: {
    node: string;
    /** 1 for a node's first record, without gaps. */
    seq: number;
    /** When the committer took the record in; the record itself says when the request came. */
    time_ms: number;
    record: string;
    prev_hash: Uint8Array;
    hash: Uint8Array;
  };
  /** How far a sink (a file, syslog, a webhook) has been fed with the records of a node. */
  audit_sink: {
    name: string;
    node: string;
    /** The last record that the sink has taken. */
    seq: number;
  };
  /** The last record that was deleted of a node's chain; see `audit/retention.operations.ts`. */
  audit_cut: {
    node: string;
    seq: number;
    hash: Uint8Array;
  };
  /** A sink that was enabled over the API; `body` is a JSON object. */
  audit_device: {
    /** With its trailing slash, e.g. `file/`. */
    path: string;
    type: string;
    body: string;
  };
  /** A key that a device has; see `system/managed-keys/`. */
  managed_key: {
    /** Kept as long as it has its name. */
    id: string;
    type: string;
    name: string;
    /** All that is told of it, as JSON. */
    body: string;
    pin_sealed: Uint8Array;
    /** Counts what was written. */
    version: number;
  };
  /** A request header that records tell; see `audit/request-headers/`. */
  audit_header: {
    /** In lower case. */
    name: string;
    /** 1: as a keyed hash alone. */
    hmac: number;
  };
  login_failure: LoginFailureRow;
  /** One row, from initialisation on; see `seal/seal.ts`. */
  seal: {
    id: 1;
    kind: string;
    /** Shares in people's hands: of the seal key, or of the recovery key (0: there is none). */
    shares: number;
    threshold: number;
    /** Grows with every rekeying. */
    generation: number;
    /** Wrapped with the seal key. */
    root_key_sealed: Uint8Array;
    /** `recoveryHash` of the recovery key, sealed as configuration; null: there is none. */
    recovery_hash_sealed: Uint8Array | null;
    /** `hashShares` of the shares in people's hands; null: not known yet, or there are none. */
    share_hashes: Uint8Array | null;
    /** The seal key as a device or another server encrypted it; null where it is in shares or in a file. */
    seal_key_wrapped: Uint8Array | null;
    cluster_id: string;
    cluster_name: string;
    /** Unix seconds. */
    created_at: number;
  };
  /** A key of the keyring, wrapped by the root key; see `barrier/keyring.ts`. */
  seal_key: {
    use: string;
    /** Generation of data keys, from 1; 0 for the hash key. */
    term: number;
    key_sealed: Uint8Array;
    created_at: number;
  };
  /** What a rekeying is about to put in the place of `seal`. */
  seal_next: {
    id: 1;
    generation: number;
    /** JSON. */
    body: string;
  };
  mount: Tagged<MountRow>;
  /** A revoked serial number; stays when the certificate itself is removed. */
  pki_revocation: {
    mount_id: string;
    serial: string;
    issuer_id: string;
    revoked_at_ms: number;
    reason: number;
    /** The mount's revision once it was revoked; 0 in rows older than this column. */
    revision: number;
    /** Of the certificate, Unix seconds; the year 9999 where it is not known. */
    not_after: ColumnType<number, number | undefined, number>;
    /** Names of the clusters that revoked it, with commas between them; see `core/clusters.ts`. */
    clusters: ColumnType<string, string | undefined, string>;
    /** The cluster that issued the certificate, as far as that is known. */
    issued_by: ColumnType<string, string | undefined, string>;
    /** Of clusters that revoked it later than `revision` says: each with the mount's revision then; see `core/clusters.ts`. */
    joined: ColumnType<string, string | undefined, string>;
    /** The last revision in `joined`. */
    joined_revision: ColumnType<number | null, number | undefined, number>;
  };
  /** One cluster asks another one to revoke what that issued; see `pki/revocation/requests.operations.ts`. */
  pki_revocation_request: {
    mount_id: string;
    serial: string;
    /** The one that issued the certificate, and is to revoke it. */
    cluster: string;
    /** The one that was asked first. */
    requested_by: string;
    reason: number;
    requested_at_ms: number;
  };
  /** A key that no certificate is made for: one was revoked since others may have its key. */
  pki_blocked_key: {
    mount_id: string;
    /** Of the bits of the public key, in hex. */
    key_sha256: string;
    /** Of the certificate that was revoked. */
    serial: string;
    blocked_at_ms: number;
  };
  /** Revoked issuers that were removed. */
  pki_revoked_issuer: {
    mount_id: string;
    /** Of the tbsCertificate, in hex: whoever writes its signature otherwise has the same certificate. */
    tbs_sha256: string;
    revoked_at_ms: number;
    /** CRLReason of RFC 5280 §5.3.1. */
    reason: number;
  };
  /** The present CRLs of issuers that share subject and key, without their entries. */
  pki_crl: {
    mount_id: string;
    /** The class of issuers, and which of its CRLs; see `crl/kind.ts`. */
    class: string;
    number: number;
    /** Of a complete CRL: the last number that it or a delta of it has had. */
    last_number: number;
    revision: number;
    base: string;
    this_update: number;
    next_update: number;
    modified_at_ms: number;
    /** Which revocations are on it, as JSON; see `CrlScope`. */
    scope: string;
    /** TBSCertList up to nextUpdate, and its extensions. */
    before_entries: Uint8Array;
    after_entries: Uint8Array;
    algorithm: string;
    signature: Uint8Array;
    /** How many entries there are. */
    entries: number;
    /** Revocations up to a revision, of certificates that ended before an instant, are not on it any more. */
    ended_before: number;
    ended_revision: number;
  };
  pki_revision: {
    mount_id: string;
    /** Grows with every revocation. */
    revision: number;
    /** Grows when revocations are taken away. */
    epoch: number;
    /** When what the CRL addresses of the mount show last changed. */
    lists_modified_at_ms: number;
    /** The same of those of delta CRLs, which show something else with each complete one, too. */
    deltas_modified_at_ms: number;
  };
  /** A finished move of a mount. */
  remount: {
    id: string;
    source: string;
    target: string;
    status: string;
    /** 0 for those that an older program made. */
    moved_at: number;
  };
  removed_mount: RemovedMountRow;
  token: TokenRow;
  token_role: Tagged<{
    name: string;
    body: string;
  }>;
  lease: LeaseRow;
  wrapped_answer: WrappedAnswerRow;
  /** An entry in the storage that belongs to one token. */
  cubbyhole: {
    token_id: string;
    path: string;
    value_sealed: Uint8Array;
  };
  policy: {
    name: string;
    /** The text as it was written. */
    body: string;
    /** 1 for a new policy; grows by one with each write. */
    version: number;
    modified_at: number;
  };
  userpass_user: Tagged<{
    mount_id: string;
    name: string;
    /** As `core/password-hash.ts` writes it; of old `scrypt$N$r$p$salt$hash`. */
    password_hash: string;
    body: string;
  }>;
  approle_role: Tagged<ApproleRoleRow>;
  approle_secret_id: ApproleSecretIdRow;
  identity_entity: IdentityEntityRow;
  identity_alias: IdentityAliasRow;
  identity_group: IdentityEntityRow;
  identity_group_member: {
    group_id: string;
    /** `entity` or `group`. */
    kind: string;
    member_id: string;
  };
  identity_group_alias: {
    id: string;
    group_id: string;
    mount_accessor: string;
    name: string;
    created_at_ms: number;
    updated_at_ms: number;
  };
  /** What the issuers and keys of a mount have in common. No row: version 0 and no defaults. */
  pki_authority: {
    mount_id: string;
    /** Grows with every change to the mount's keys, issuers or defaults. */
    version: number;
    /** Ids; empty for none. */
    default_issuer: string;
    default_key: string;
    follows_latest: 0 | 1;
    /** Grows with what certificates rest on besides their issuer and its key: the default issuer and the URLs. */
    issuing_version: number;
  };
  /** One configuration record of a mount (`urls`, `cluster`, …) as JSON. */
  pki_config: {
    mount_id: string;
    name: string;
    body: string;
  };
  pki_key: PkiKeyRow;
  /** The service that decides on certificates of a mount, and as whom it is asked. */
  pki_external_policy: {
    mount_id: string;
    /** Grows with every change. */
    version: number;
    updated_at_ms: number;
    /** Settings as JSON. */
    body: string;
    /** PKCS #8, of the client certificate; null without one. */
    client_key_sealed: Uint8Array | null;
  };
  pki_issuer: PkiIssuerRow;
  ssh_authority: SshAuthorityRow;
  ssh_role: Tagged<SshRoleRow>;
  pki_role: Tagged<{
    mount_id: string;
    name: string;
    body: string;
    /** As in the body; empty for one that is too long to name anything. */
    issuer_ref: string;
  }>;
  /** Programs that decide on certificates; the tag is another one with each body. */
  pki_cel_role: {
    mount_id: string;
    name: string;
    body: string;
    body_tag: string;
  };
  pki_certificate: PkiCertificateRow;
  /** What those who asked for a certificate want to be kept with it. */
  pki_certificate_metadata: {
    mount_id: string;
    serial: string;
    issuer_id: string;
    role: string;
    not_after: number;
    data: Uint8Array;
  };
  /** Who is warned before certificates of a mount end. */
  pki_expiration_warning: {
    mount_id: string;
    /** Grows with every change. */
    version: number;
    enabled: 0 | 1;
    /** Settings as JSON. */
    body: string;
    /** Null where messages are not signed. */
    webhook_secret_sealed: Uint8Array | null;
  };
  /** Up to which end certificates and issuers were looked at. */
  pki_expiration_cursor: {
    mount_id: string;
    /** `webhook` or `mail`. */
    channel: string;
    /** Seconds before the end. */
    ahead: number;
    not_after: number;
    serial: string;
    issuer_not_after: number;
    issuer_id: string;
  };
  /** A warning that is on its way. */
  pki_expiration_message: {
    mount_id: string;
    channel: string;
    id: string;
    created_at_ms: number;
    attempts: number;
    next_at_ms: number;
    /** How many it is about. */
    certificates: number;
    /** JSON. */
    body: string;
  };
  /** A name in a certificate, lower case and backwards. */
  pki_certificate_name: {
    mount_id: string;
    reversed: string;
    serial: string;
  };
  pki_count: {
    mount_id: string;
    name: string;
    value: number;
  };
  pki_tidy: PkiTidyRow;
  resource: ResourceRow;
  /** One resource refers to another, e.g. kind `host-set-host` from a host set to its host. */
  resource_link: {
    from_id: string;
    kind: string;
    to_id: string;
  };
  /** A role or a group, and how many it leads to. */
  resource_room: {
    org_id: string;
    type: string;
    scope_id: string;
    id: string;
    links: number;
  };
  resource_sequence: {
    name: string;
    value: number;
  };
  /** A resource that is gone, for lists that are refreshed. */
  resource_removed: {
    type: string;
    /** Grows in the order in which removals become visible. */
    seq: number;
    id: string;
    container_id: string;
    removed_ms: number;
  };
  /** A scope that was made, changed or removed: what is known of the others goes on. */
  scope_change: {
    /** Grows in the order in which changes become visible. */
    seq: number;
    id: string;
  };
  vault_token: VaultTokenRow;
  session_credential: SessionCredentialRow;
  worker_status: WorkerStatusRow;
  session: SessionRow;
  session_connection: SessionConnectionRow;
  session_recording: SessionRecordingRow;
  recording_file: RecordingFileRow;
  worker_root: WorkerRootRow;
  /** An activation token that no worker has come with yet. */
  worker_activation: {
    token_hmac: string;
    worker_id: string;
    expires_ms: number;
    /** Of a token that the worker has made: the secret in it. */
    secret_sealed: Uint8Array | null;
  };
  worker_key: WorkerKeyRow;
  worker_errand: WorkerErrandRow;
  /** A recovery token that was used. */
  recovery_nonce: {
    nonce: string;
    used_ms: number;
  };
  /** Somebody who had a session in a month, `2026-11`. */
  active_user: {
    month: string;
    user_id: string;
  };
  /** One row, once a development server has its seed data. */
  broker_seed: {
    id: 1;
    made_ms: number;
    body: string;
  };
}

/**
 * With a short text that no other body of the row has or had: whoever rests on the body compares that. The
 * database writes it, see `migrations/0057-body-tags.ts`.
 */
type Tagged<Row extends { body: string }> = Row & { body_tag: GeneratedAlways<string> };

/** Which node does a periodic job at present; see `lease.ts`. */
export interface JobLeaseRow {
  name: string;
  holder: string;
  expires_at_ms: number;
  /** Grows by one with every new holder, so that the work of a former one can be refused. */
  fence: number;
}

/** Failed log-ins under one name; see `access/auth/lockout/`. */
export interface LoginFailureRow {
  /** Keyed hash of method and name, base64url. */
  id: string;
  /** Of the auth mount, or of the broker's auth method. */
  method_id: string;
  /** Empty for a name that is longer than any user's. */
  name_sealed: Uint8Array;
  failures: number;
  last_failed_at: number;
  /** How often it was unlocked: a failure that began before does not count after it. */
  unlocked: number;
}

export interface PkiKeyRow {
  mount_id: string;
  id: string;
  /** Empty for none. */
  name: string;
  key_type: string;
  key_bits: number;
  /** SubjectPublicKeyInfo, DER. */
  public_key: Uint8Array;
  /** PKCS #8, DER, sealed for this row; nothing where a device has the key. */
  private_key_sealed: Uint8Array;
  /** Of a key that a device has. */
  managed_key_id: string | null;
  /** How that key signs PSS, where it signs nothing else; otherwise empty. */
  pss: string;
}

export interface PkiIssuerRow {
  mount_id: string;
  id: string;
  /** Empty for none. */
  name: string;
  /** Empty when the key is elsewhere. */
  key_id: string;
  certificate: Uint8Array;
  body: string;
  revoked_at_ms: number | null;
  /** CRLReason of RFC 5280 §5.3.1; 0: unspecified, and for one that is not revoked. */
  revocation_reason: number;
  modified_at_ms: number;
  created_at_ms: number;
  /** Grows with every change but that of `modified_at_ms`. */
  version: number;
}

export interface PkiCertificateRow {
  mount_id: string;
  /** Lower-case colon hex. */
  serial: string;
  issuer_id: string;
  /** Empty when no role was involved. */
  role: string;
  subject_cn: string;
  not_before: number;
  not_after: number;
  revoked_at_ms: number | null;
  /** CRLReason (RFC 5280 §5.3.1). */
  revocation_reason: number | null;
  der: Uint8Array;
  /** Names of the clusters that have it: that which issued it, and those that revoked it. */
  clusters: string;
  /** Those that it is found by, as `pki/certificates/names.ts` has them. */
  names: string | null;
}

/** How a mount is tidied: by itself, and how the last tidying went; see `pki/tidy/`. */
export interface PkiTidyRow {
  mount_id: string;
  /** The configuration as JSON; empty: none was written. */
  auto: string;
  /** When it is tidied by itself again; null: never. */
  due_at_ms: number | null;
  /** Of the last tidying; empty: there was none. */
  run_id: string;
  state: string;
  /** JSON, all three. */
  request: string;
  counts: string;
  progress: string;
  error: string | null;
  started_at_ms: number | null;
  finished_at_ms: number | null;
  /** Of the last one that ended well; 0: there was none. */
  last_finished_at_ms: number;
}

/** A service token. Batch tokens have no row: everything about one is in its text. */
export interface TokenRow {
  /** Keyed hash of the token's text, base64url. */
  id: string;
  accessor: string;
  /** Null for an orphan. Revoking a token revokes what descends from it. */
  parent_id: string | null;
  /** The auth mount that made it; empty for the built-in `token/`. */
  mount_id: string;
  /** Of the log-in that made it; empty for any other. */
  alias_id: string;
  expires_at: number | null;
  /** Meaningful when the body's `num_uses` is not 0. */
  uses_left: number;
  renewed_at: number | null;
  body: string;
}

/** Something that ends with the token it was given to, or at its time; see `access/leases/`. */
export interface LeaseRow {
  /** The path it was made at and a random part, e.g. `pki/issue/web/…`. */
  id: string;
  /** 1: it ends with a token, or with an alias; once that is gone, neither is there. */
  bound: 0 | 1;
  token_id: string | null;
  /** Of the log-in whose batch token made it. */
  alias_id: string | null;
  /** The library that made it for a session of the broker. */
  source_id: string | null;
  /** Empty for what belongs to no mount. */
  mount_id: string;
  /** Names what is to be done when it ends. */
  kind: string;
  /** JSON; what `kind` needs to do it. */
  data: string;
  issued_at: number;
  expires_at: number;
  renewable: 0 | 1;
  renewed_at: number | null;
  /** Once it is due: whose turn it is to have it ended; empty for nobody's. */
  turn: string | null;
}

/** An answer that waits, sealed, for whoever has its single-use token. */
export interface WrappedAnswerRow {
  token_id: string;
  creation_path: string;
  created_at_ms: number;
  ttl: number;
  /** Of the token inside; empty when there is none. */
  wrapped_accessor: string;
  answer_sealed: Uint8Array;
  /** Who had it wrapped, an entity, a token or a site; empty in rows of an older server. */
  maker: string;
  /** Of `answer_sealed`, so that a count reads an index alone. */
  bytes: number;
}

export interface ApproleRoleRow {
  mount_id: string;
  name: string;
  role_id: string;
  /** What no other role's ID folds to; null for an older one whose key another has. */
  role_id_key: string | null;
  body: string;
}

export interface ApproleSecretIdRow {
  /** Keyed hash of the secret ID, base64url. */
  id: string;
  accessor: string;
  mount_id: string;
  role: string;
  expires_at: number | null;
  /** Meaningful when the body's `num_uses` is not 0. */
  uses_left: number;
  body: string;
}

/** One engine at one path; `body` is a JSON object. */
export interface MountRow {
  id: string;
  kind: string;
  path: string;
  type: string;
  accessor: string;
  body: string;
}

/** A mount that was disabled; its rows are deleted bit by bit. */
export interface RemovedMountRow {
  id: string;
  /** Empty for those that an older program removed. */
  accessor: string;
  removed_at: number;
}

/** Anything that the access broker keeps; see `broker/resource/`. */
export interface ResourceRow {
  id: string;
  type: string;
  subtype: string;
  scope_id: string;
  container_id: string;
  /** Empty where a resource belongs to nobody. */
  owner_id: string;
  name: string | null;
  description: string | null;
  unique_key: string | null;
  version: number;
  created_ms: number;
  updated_ms: number;
  /** JSON object. */
  body: string;
  secret_sealed: Uint8Array | null;
}

/** What must be exact about a session; the rest of it is the resource of the same id. */
export interface SessionRow {
  id: string;
  /** The ids of what it was made with; empty once that is gone, as when there was none. */
  target_id: string;
  host_set_id: string;
  host_id: string;
  auth_token_id: string;
  /** Of a token of the Vault API that it was authorized by: its row, … */
  token_id: string;
  /** … or the alias of its log-in, where it has no row. */
  alias_id: string;
  /** The mount by which whoever had that token came in; empty where there was none. */
  auth_mount_id: string;
  /** Whom it was made for, to be found by as long as it goes on. */
  user_id: string;
  /** `pending`, `active`, `canceling`, `terminated`. */
  status: string;
  endpoint: string;
  /** -1: unlimited. */
  connection_limit: number;
  expires_ms: number;
  /** The target's when it was made: which workers may reach the endpoint. */
  worker_filter: string;
  /** Which of them clients come to: empty: the same; `*`: any. */
  ingress_worker_filter: string;
  /** DER. */
  certificate: Uint8Array;
  /** Ed25519, 64 bytes; null once the session has ended, as the next. */
  private_key_sealed: Uint8Array | null;
  /** Of the client that used it first; null before. */
  tofu_sealed: Uint8Array | null;
  created_ms: number;
  active_ms: number | null;
  canceling_ms: number | null;
  terminated_ms: number | null;
  /** Empty while it goes on. */
  termination_reason: string;
  /** Connections that were ever authorized. */
  connections: number;
  open_connections: number;
  /** 1: its worker logs in for the client, by injected credentials. */
  injects: number;
  /** When the job has to look at it. */
  due_ms: number;
  /** Not before this was it last used. */
  used_ms: number;
  /** When a connection of it was last closed; 0: never. */
  left_ms: number;
}

/** What is asked of a worker whose connection another server holds. */
export interface WorkerErrandRow {
  id: string;
  worker_id: string;
  errand_sealed: Uint8Array;
  is_taken: number;
  /** JSON; empty before there is one. */
  answer: string;
  expires_ms: number;
}

export interface SessionConnectionRow {
  id: string;
  session_id: string;
  /** The worker that carries it. */
  worker_id: string;
  /** The one that has dialled its endpoint, if that is another one; empty: it has not, or not yet. */
  egress_worker_id: string;
  /** `authorized`, `connected`, `closed`. */
  status: string;
  created_ms: number;
  connected_ms: number | null;
  closed_ms: number | null;
  updated_ms: number;
  client_tcp_address: string;
  client_tcp_port: number;
  endpoint_tcp_address: string;
  endpoint_tcp_port: number;
  /** Received from the client, and sent to it. */
  bytes_up: number;
  bytes_down: number;
  closed_reason: string;
}

/** A session that is or was recorded. */
export interface SessionRecordingRow {
  id: string;
  session_id: string;
  /** The storage bucket that its files lie in. */
  bucket_id: string;
  /** Of the target's project, for storage policies. */
  org_id: string;
  /** `started`, `available`, `unknown`. */
  state: string;
  /** Of `unknown`. */
  error_details: string;
  endpoint: string;
  /** Of its first connection, and of its last. */
  start_ms: number | null;
  end_ms: number | null;
  /** 0: it need not be retained. */
  retain_until_ms: number;
  /** null: never. */
  delete_after_ms: number | null;
  /** When its removal was begun. */
  deleting_ms: number | null;
  /** 0 or 1: whether what users do is kept besides what they see. */
  keeps_input: number;
  /** The data key of its files. */
  key_sealed: Uint8Array;
  /** JSON: who, to what, with which credentials, as they were at its beginning. */
  facts: string;
}

/** A file of a recording, and where its chain of hashes stands. */
export interface RecordingFileRow {
  /** Of a connection recording or a channel recording. */
  id: string;
  recording_id: string;
  /** Its own of a connection. */
  connection_recording_id: string;
  /** Of the session. */
  connection_id: string;
  /** Who writes it. */
  worker_id: string;
  pieces: number;
  head: Uint8Array;
  bytes_up: number;
  bytes_down: number;
  start_ms: number;
  updated_ms: number;
  end_ms: number | null;
  /** JSON of a channel's; empty of a connection's. */
  body: string;
}

/** Somebody or something that logs in; `name_key` is the name in lower case. */
export interface IdentityEntityRow {
  id: string;
  name: string;
  name_key: string;
  /** Grows by one with each change. */
  version: number;
  created_at_ms: number;
  updated_at_ms: number;
  body: string;
}

/** What an entity is called by one auth mount. */
export interface IdentityAliasRow {
  id: string;
  entity_id: string;
  mount_accessor: string;
  name: string;
  name_key: string;
  /** How often it got another name or mount, or became somebody else's. */
  moves: number;
  created_at_ms: number;
  updated_at_ms: number;
  body: string;
}

/** A worker's last report; written every few seconds, beside its resource. */
export interface WorkerStatusRow {
  worker_id: string;
  last_status_ms: number;
  /** `active` or `shutdown`. */
  operational_state: string;
  active_connection_count: number;
}

/** A key that a worker which stands alone proves itself by. */
export interface WorkerKeyRow {
  /** Of its subjectPublicKeyInfo, in lower-case hex. */
  key_sha256: string;
  worker_id: string;
  /** When its certificate ends. */
  not_after_ms: number;
}

/** A root that workers are enrolled under. */
export interface WorkerRootRow {
  /** `current` or `next`. */
  use: string;
  /** DER. */
  certificate: Uint8Array;
  /** Of the subject's key, in lower-case hex. */
  public_key_sha256: string;
  not_before_ms: number;
  not_after_ms: number;
  key_sealed: Uint8Array;
}

/** A token of a Vault credential store; see `broker/vault/tokens/`. */
export interface VaultTokenRow {
  id: string;
  store_id: string;
  /** `current`, `maintaining` (replaced, kept for its leases), `expired`, `revoked`. */
  status: string;
  /** The whole connection, token included. */
  secret_sealed: Uint8Array;
  /** Unix seconds, all three. */
  renew_at: number;
  expires_at: number;
  replaced_at: number | null;
  /** Keyed hash of the token, the same wherever it is; null until the job has made it. */
  token_mac: string | null;
  /** Where its store is, or was; null for those from before this was kept whose store was gone by then. */
  project_id: string | null;
  org_id: string | null;
}

/** An injected credential of a session, for the worker that carries it. */
export interface SessionCredentialRow {
  session_id: string;
  source_id: string;
  /** Unix seconds. */
  expires_at: number;
  secret_sealed: Uint8Array;
}

/** The authority of an SSH mount. */
export interface SshAuthorityRow {
  mount_id: string;
  /** One line. */
  public_key: string;
  /** PKCS#8, DER. */
  private_key_sealed: Uint8Array;
}

/** Roles of SSH mounts; as `pki_role`. */
export interface SshRoleRow {
  mount_id: string;
  name: string;
  body: string;
}
