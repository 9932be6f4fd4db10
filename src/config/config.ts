import { CORS_DEFAULTS, type Cors } from '../core/cors.ts';
import { parsePostgresUrl } from '../core/postgres-url.ts';
import type { AuditSinkConfig } from './audit-sink.ts';
import {
  CONNECTION_DEFAULTS,
  type ConnectionLimits,
  connectionsOf,
  PUBLIC_CONNECTION_DEFAULTS,
} from './connections.ts';
import { parseAddress, parseHosts } from './kinds.ts';
import { type KmsLibrary, kmsLibrariesOf } from './kms-library.ts';
import { DEV_OUTGOING, type SmtpServer } from './outgoing.ts';
import type { ReachRules } from './reach-rules.ts';
import { readSettings } from './read.ts';
import { parseRecoveryKey } from './recovery-key.ts';
import { type SealSettings, sealOf } from './seal-settings.ts';
import { checkSeed, type SeedSettings } from './seed.ts';
import { SESSION_LIMITS_DEFAULTS, type SessionLimits } from './session-limits.ts';
import {
  type LogLevel,
  RATE_LIMIT_DEFAULTS,
  type RateLimits,
  type Settings,
  USER_LOCKOUT_DEFAULTS,
  type UserLockout,
} from './settings.ts';
import { DEV_STORAGE_BUCKETS, type StorageBucketRules } from './storage-buckets.ts';

/** A listener of HTTP, apart from where it listens. */
export interface Listener {
  tls: { cert_file: string; key_file: string } | undefined;
  connections: ConnectionLimits;
  /**
   * Names that requests may be for, besides loopback ones and the address that they come to;
   * undefined: any.
   */
  allowed_hosts: readonly string[] | undefined;
}

/** How one server runs; checked once and frozen. Times in milliseconds where named so. */
export interface Config extends Listener {
  mode: 'dev' | 'server';
  /** How many answer requests; undefined: one for each core. Of a server that runs, how many do. */
  threads: number | undefined;
  listen: { host: string; port: number };
  /** For relying parties, without TLS; undefined: there is none. */
  public_listener: (Listener & { listen: Config['listen'] }) | undefined;
  proxy_listen: { host: string; port: number };
  /** Where workers that stand alone come to; undefined: there are none. */
  worker_listen: { host: string; port: number } | undefined;
  /** `host:port` where clients reach the proxy listener, if not where it listens. */
  proxy_address: string | undefined;
  /** Where workers reach its listener for them, for those that are connected to another server. */
  worker_address?: string | undefined;
  storage:
    | { type: 'sqlite'; directory: string }
    | { type: 'postgres'; url: string; node_name: string };
  /** Of several clusters on one database, the one that this server belongs to; empty: of one without a name. */
  cluster_name: string;
  seal: SealSettings;
  /** The seal that the data is moved from; undefined: it is not. */
  former_seal: SealSettings | undefined;
  /** PKCS #11 modules; empty on a development server. */
  kms_library: readonly KmsLibrary[];
  log_level: LogLevel;
  telemetry: { unauthenticated_metrics_access: boolean };
  audit: {
    /** Answer a read only after its record is durable. */
    wait_for_reads: boolean;
    /** Record reads that need no token (CRL, OCSP, CA certificates) instead of counting them. */
    record_public_reads: boolean;
    /** Records older than this are deleted once every sink has them; 0: never. */
    retention_days: number;
    sinks: AuditSinkConfig[];
  };
  user_lockout: UserLockout;
  /** Of the broker's API. */
  rate_limits: RateLimits;
  session_limits: SessionLimits;
  /** Of the broker's API. */
  cors: Cors;
  /** Which Vault servers the broker may be sent to. */
  credential_stores: ReachRules;
  /** Where recordings of sessions may be kept. */
  storage_buckets: StorageBucketRules;
  /** Where services that decide on certificates may be. */
  policy_services: ReachRules;
  /** Where receivers of warnings may be. */
  webhooks: ReachRules;
  /** What mail is handed to; undefined: none is sent. */
  smtp: SmtpServer | undefined;
  /** Address that clients reach this server at, for links in answers. */
  api_address: string;
  dev_root_token: string | undefined;
  /** What the broker of a development server begins with; undefined: nothing. */
  seed: SeedSettings | undefined;
  /** AES-256 key that recovery tokens of the broker's clients are made with; undefined: none are taken. */
  recovery_key: Uint8Array | undefined;
}

/** Of a development server: more than one machine asks for, since all of it is one client. */
const DEV_QUOTAS: RateLimits['list'] = {
  total: 10_000_000,
  per_ip_address: 10_000_000,
  per_auth_token: 10_000_000,
};

/**
 * The name of this node, of its audit chain, and of whoever holds its leases: one process at a
 * time has it, so that after a restart it goes on with what it held.
 */
export function nodeName(config: Pick<Config, 'storage'>): string {
  return config.storage.type === 'postgres' ? config.storage.node_name : 'local';
}

/** Settings of `gatehouse dev`, as its flags give them. */
interface DevFlags {
  data: string;
  listen: string;
  proxy_listen: string;
  /** Absent: none. */
  public_listen?: string | undefined;
  /** Absent: none. */
  worker_listen?: string | undefined;
  root_token: string;
  /** How many answer requests; absent: one for each core. */
  threads?: number | undefined;
  /** Names, with commas between them. */
  allowed_hosts?: string | undefined;
  /** Absent: no seed data. */
  seed?: SeedSettings;
  /** Base64 of 32 bytes; absent: none. */
  recovery_key?: string | undefined;
}

export const DEV_DEFAULTS: DevFlags = {
  data: './data',
  listen: '127.0.0.1:8200',
  proxy_listen: '127.0.0.1:9202',
  root_token: 'root',
};

/** The whole configuration of a development server. */
export function devConfig(flags: DevFlags): Config {
  const listen = parseAddress('-listen', flags.listen);
  return Object.freeze({
    mode: 'dev' as const,
    threads: flags.threads,
    listen,
    public_listener:
      flags.public_listen === undefined
        ? undefined
        : publicListener(
            parseAddress('-public-listen', flags.public_listen),
            PUBLIC_CONNECTION_DEFAULTS,
          ),
    proxy_listen: parseAddress('-proxy-listen', flags.proxy_listen),
    worker_listen:
      flags.worker_listen === undefined
        ? undefined
        : parseAddress('-worker-listen', flags.worker_listen),
    proxy_address: undefined,
    tls: undefined,
    storage: { type: 'sqlite' as const, directory: flags.data },
    cluster_name: '',
    seal: { type: 'keyfile' as const, path: `${flags.data}/unseal.key` },
    former_seal: undefined,
    kms_library: [],
    log_level: 'warn' as const,
    telemetry: { unauthenticated_metrics_access: false },
    audit: { wait_for_reads: false, record_public_reads: false, retention_days: 0, sinks: [] },
    user_lockout: USER_LOCKOUT_DEFAULTS,
    rate_limits: { ...RATE_LIMIT_DEFAULTS, list: DEV_QUOTAS, other: DEV_QUOTAS },
    session_limits: SESSION_LIMITS_DEFAULTS,
    cors: CORS_DEFAULTS,
    connections: CONNECTION_DEFAULTS,
    credential_stores: { allow_loopback: true, allowed_networks: [], denied_networks: [] },
    policy_services: { allow_loopback: true, allowed_networks: [], denied_networks: [] },
    storage_buckets: DEV_STORAGE_BUCKETS,
    ...DEV_OUTGOING,
    allowed_hosts: parseHosts('flag -allowed-hosts', [
      ...(['0.0.0.0', '::'].includes(listen.host) ? [] : [hostText(listen.host)]),
      ...(flags.allowed_hosts ?? '').split(',').filter((one) => one !== ''),
    ]),
    api_address: `http://${flags.listen}`,
    dev_root_token: flags.root_token,
    seed: flags.seed && checkSeed(flags.seed),
    recovery_key: parseRecoveryKey('flag -recovery-key', flags.recovery_key),
  });
}

const hostText = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/**
 * Checks a configuration file's content. Every key is known or refused by its name.
 *
 * @param text a JSON object
 * @throws Failure `invalid` naming the key and what would be accepted
 */
export function parseConfig(text: string): Config {
  const {
    listener,
    public_listener,
    proxy_listener,
    worker_listener,
    storage,
    cluster_name,
    seal,
    former_seal,
    api_address,
    ...settings
  } = readSettings(text);
  const { audit, log_level, telemetry, user_lockout, rate_limits, cors, credential_stores } =
    settings;
  const kms_library = kmsLibrariesOf(settings.kms_library);
  const scheme = listener.tls_disable ? 'http' : 'https';
  return Object.freeze({
    mode: 'server' as const,
    threads: settings.threads,
    listen: listener.address.at,
    public_listener:
      public_listener && publicListener(public_listener.address.at, connectionsOf(public_listener)),
    proxy_listen: proxy_listener.address.at,
    worker_listen: worker_listener?.address.at,
    proxy_address: proxy_listener.public_address,
    worker_address: worker_listener?.public_address,
    tls: listener.tls_disable
      ? undefined
      : { cert_file: listener.tls_cert_file, key_file: listener.tls_key_file },
    storage: storageOf(storage),
    cluster_name,
    seal: sealOf(seal, kms_library),
    former_seal: former_seal && sealOf(former_seal, kms_library, 'former_seal'),
    kms_library,
    log_level,
    telemetry,
    audit,
    user_lockout,
    rate_limits,
    session_limits: settings.session_limits,
    cors,
    connections: connectionsOf(listener),
    credential_stores,
    policy_services: settings.policy_services,
    storage_buckets: settings.storage_buckets,
    webhooks: settings.webhooks,
    smtp: settings.smtp,
    allowed_hosts: settings.allowed_hosts,
    api_address: api_address ?? `${scheme}://${listener.address.written}`,
    dev_root_token: undefined,
    seed: undefined,
    recovery_key: settings.recovery_key,
  });
}

/** What it serves is everybody's, whatever name they reach it by. */
const publicListener = (
  listen: Config['listen'],
  connections: ConnectionLimits,
): Config['public_listener'] => ({ listen, tls: undefined, connections, allowed_hosts: undefined });

function storageOf(storage: Settings['storage']): Config['storage'] {
  if (storage.type === 'sqlite') return { type: 'sqlite', directory: storage.path };
  const { url, node_name } = storage;
  // Refused here, before anything begins.
  parsePostgresUrl(url);
  return { type: 'postgres', url, node_name };
}
