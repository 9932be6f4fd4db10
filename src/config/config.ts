import { CORS_DEFAULTS, type Cors } from '../core/cors.ts';
import { Failure } from '../core/failure.ts';
import { bareHost } from '../core/host.ts';
import { hasKeyTwice } from '../core/json-keys.ts';
import { parsePostgresUrl } from '../core/postgres-url.ts';
import { judgePath } from './audit-file.ts';
import { type AuditSinkConfig, sinkName } from './audit-sink.ts';
import { requireCidrs } from './cidrs.ts';
import {
  CONNECTION_DEFAULTS,
  CONNECTION_KEYS,
  type ConnectionLimits,
  connectionsOf,
} from './connections.ts';
import type { ReachRules } from './reach-rules.ts';
import { parseRecoveryKey } from './recovery-key.ts';
import { checkSeed, type SeedSettings } from './seed.ts';
import { parseSyslogAddress, SYSLOG_FACILITIES } from './syslog.ts';
import { choiceOf, countOf, flagOf, type Section, secondsOf, section, textOf } from './values.ts';

/** How one server runs; checked once and frozen. Times in milliseconds where named so. */
export interface Config {
  mode: 'dev' | 'server';
  listen: { host: string; port: number };
  proxy_listen: { host: string; port: number };
  /** `host:port` where clients reach the proxy listener, if not where it listens. */
  proxy_address: string | undefined;
  tls: { cert_file: string; key_file: string } | undefined;
  storage:
    | { type: 'sqlite'; directory: string }
    | { type: 'postgres'; url: string; node_name: string };
  seal: { type: 'shamir' } | { type: 'keyfile'; path: string };
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
  /** Of the broker's API. */
  cors: Cors;
  /** Of the API's listener. */
  connections: ConnectionLimits;
  /** Which Vault servers the broker may be sent to. */
  credential_stores: ReachRules;
  /**
   * Names that requests may be for, besides loopback ones and the address that they come to;
   * undefined: any.
   */
  allowed_hosts: readonly string[] | undefined;
  /** Address that clients reach this server at, for links in answers. */
  api_address: string;
  dev_root_token: string | undefined;
  /** What the broker of a development server begins with; undefined: nothing. */
  seed: SeedSettings | undefined;
  /** AES-256 key that recovery tokens of the broker's clients are made with; undefined: none are taken. */
  recovery_key: Uint8Array | undefined;
}

export type LogLevel = (typeof LOG_LEVELS)[number];
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** When failed log-ins under one name lock it. Times in seconds. */
export interface UserLockout {
  disable_lockout: boolean;
  /** Failures in a row that lock. */
  lockout_threshold: number;
  /** How long it is locked after the last of them. */
  lockout_duration: number;
  /** Without a failure for so long, earlier ones are forgotten. */
  lockout_counter_reset: number;
}

/** How many requests one endpoint takes in a period; the rest hear when to come again. */
export interface RateLimits {
  disable: boolean;
  /** Seconds. */
  period: number;
  list: Quotas;
  other: Quotas;
}

export interface Quotas {
  total: number;
  per_ip_address: number;
  per_auth_token: number;
}

export const RATE_LIMIT_DEFAULTS: RateLimits = {
  disable: false,
  period: 30,
  list: { total: 1_500, per_ip_address: 1_500, per_auth_token: 150 },
  other: { total: 30_000, per_ip_address: 30_000, per_auth_token: 3_000 },
};

/** Of a development server: more than one machine asks for, since all of it is one client. */
const DEV_QUOTAS: Quotas = {
  total: 10_000_000,
  per_ip_address: 10_000_000,
  per_auth_token: 10_000_000,
};

export const USER_LOCKOUT_DEFAULTS: UserLockout = {
  disable_lockout: false,
  lockout_threshold: 5,
  lockout_duration: 900,
  lockout_counter_reset: 900,
};

/**
 * The name of this node, of its audit chain, and of whoever holds its leases: one process at a
 * time has it, so that after a restart it goes on with what it held.
 */
export function nodeName(config: Pick<Config, 'storage'>): string {
  return config.storage.type === 'postgres' ? config.storage.node_name : 'local';
}

/**
 * Reads `HOST:PORT`, `[::1]:8200` or `:8200`.
 *
 * @param what the setting's name, for the refusal
 */
export function parseAddress(what: string, text: string): { host: string; port: number } {
  const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(parts?.[3]);
  if (!parts || port > 65535) {
    throw new Failure(
      'invalid',
      `${what} must be HOST:PORT, such as "127.0.0.1:8200", not "${text}"`,
    );
  }
  return { host: parts[1] ?? (parts[2] || '0.0.0.0'), port };
}

/** Settings of `gatehouse dev`, as its flags give them. */
export interface DevFlags {
  data: string;
  listen: string;
  proxy_listen: string;
  root_token: string;
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
    listen,
    proxy_listen: parseAddress('-proxy-listen', flags.proxy_listen),
    proxy_address: undefined,
    tls: undefined,
    storage: { type: 'sqlite' as const, directory: flags.data },
    seal: { type: 'keyfile' as const, path: `${flags.data}/unseal.key` },
    log_level: 'warn' as const,
    telemetry: { unauthenticated_metrics_access: false },
    audit: { wait_for_reads: false, record_public_reads: false, retention_days: 0, sinks: [] },
    user_lockout: USER_LOCKOUT_DEFAULTS,
    rate_limits: { ...RATE_LIMIT_DEFAULTS, list: DEV_QUOTAS, other: DEV_QUOTAS },
    cors: CORS_DEFAULTS,
    connections: CONNECTION_DEFAULTS,
    credential_stores: { allow_loopback: true, allowed_networks: [], denied_networks: [] },
    allowed_hosts: hostsOf('flag -allowed-hosts', [
      ...(['0.0.0.0', '::'].includes(listen.host) ? [] : [hostText(listen.host)]),
      ...(flags.allowed_hosts ?? '').split(',').filter((one) => one !== ''),
    ]),
    api_address: `http://${flags.listen}`,
    dev_root_token: flags.root_token,
    seed: flags.seed && checkSeed(flags.seed),
    recovery_key: parseRecoveryKey('flag -recovery-key', flags.recovery_key),
  });
}

/**
 * Checks a configuration file's content. Every key is known or refused by its name.
 *
 * @param text a JSON object
 * @throws Failure `invalid` naming the key and what would be accepted
 */
export function parseConfig(text: string): Config {
  let whole: unknown;
  try {
    whole = JSON.parse(text);
  } catch (cause) {
    throw new Failure('invalid', 'the configuration file is not JSON', { cause });
  }
  if (hasKeyTwice(text, whole)) {
    throw new Failure('invalid', 'the configuration file has a key twice');
  }
  const top = section('', whole, [
    'listener', 'proxy_listener', 'storage', 'seal', 'audit', 'user_lockout', 'telemetry', 'log_level',
    'api_address', 'recovery_key', 'rate_limits', 'cors', 'allowed_hosts', 'credential_stores',
  ]); // biome-ignore format: one list
  const listener = section('listener', top.listener ?? {}, [
    'address',
    'tls_cert_file',
    'tls_key_file',
    'tls_disable',
    ...CONNECTION_KEYS,
  ]);
  const address = textOf('listener.address', listener.address, '127.0.0.1:8200');
  const listen = parseAddress('listener.address', address);
  const tls = tlsOf(listener);
  const proxy = section('proxy_listener', top.proxy_listener ?? {}, ['address', 'public_address']);
  const log_level = choiceOf('log_level', top.log_level ?? 'info', LOG_LEVELS);
  return Object.freeze({
    mode: 'server' as const,
    listen,
    proxy_listen: parseAddress(
      'proxy_listener.address',
      textOf('proxy_listener.address', proxy.address, '127.0.0.1:9202'),
    ),
    proxy_address: publicAddressOf(proxy.public_address),
    tls,
    storage: storageOf(top.storage),
    seal: sealOf(top.seal),
    log_level,
    telemetry: telemetryOf(top.telemetry),
    audit: auditOf(top.audit),
    user_lockout: lockoutOf(top.user_lockout),
    rate_limits: rateLimitsOf(top.rate_limits),
    cors: corsOf(top.cors),
    connections: connectionsOf(listener),
    credential_stores: reachOf(top.credential_stores),
    allowed_hosts:
      top.allowed_hosts === undefined ? undefined : hostsOf('allowed_hosts', top.allowed_hosts),
    api_address: textOf('api_address', top.api_address, `${tls ? 'https' : 'http'}://${address}`),
    dev_root_token: undefined,
    seed: undefined,
    recovery_key: parseRecoveryKey(
      'recovery_key',
      top.recovery_key === undefined ? undefined : textOf('recovery_key', top.recovery_key),
    ),
  });
}

function tlsOf(listener: Section): Config['tls'] {
  if (flagOf('listener.tls_disable', listener.tls_disable)) return undefined;
  return {
    cert_file: textOf('listener.tls_cert_file', listener.tls_cert_file),
    key_file: textOf('listener.tls_key_file', listener.tls_key_file),
  };
}

function publicAddressOf(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const name = 'proxy_listener.public_address';
  const address = textOf(name, value);
  const { port } = parseAddress(name, address);
  if (address.startsWith(':') || port === 0) {
    throw new Failure('invalid', `${name} must name a host and a port that clients can reach`);
  }
  return address;
}

function storageOf(value: unknown): Config['storage'] {
  const storage = section('storage', value ?? {}, ['type', 'path', 'url', 'node_name']);
  switch (choiceOf('storage.type', storage.type, ['sqlite', 'postgres'])) {
    case 'sqlite':
      return { type: 'sqlite', directory: textOf('storage.path', storage.path) };
    case 'postgres': {
      const url = textOf('storage.url', storage.url);
      // Refused here, before anything begins.
      parsePostgresUrl(url);
      return {
        type: 'postgres',
        url,
        node_name: textOf('storage.node_name', storage.node_name),
      };
    }
  }
}

function sealOf(value: unknown): Config['seal'] {
  const seal = section('seal', value ?? { type: 'shamir' }, ['type', 'path']);
  switch (choiceOf('seal.type', seal.type, ['shamir', 'keyfile'])) {
    case 'shamir':
      return { type: 'shamir' };
    case 'keyfile':
      return { type: 'keyfile', path: textOf('seal.path', seal.path) };
  }
}

function lockoutOf(value: unknown): UserLockout {
  const names = Object.keys(USER_LOCKOUT_DEFAULTS);
  const lockout = section('user_lockout', value ?? {}, names);
  const byDefault = USER_LOCKOUT_DEFAULTS;
  const seconds = (name: 'lockout_duration' | 'lockout_counter_reset'): number =>
    secondsOf(`user_lockout.${name}`, lockout[name], byDefault[name]);
  const lockout_threshold = countOf(
    'user_lockout.lockout_threshold',
    lockout.lockout_threshold,
    byDefault.lockout_threshold,
  );
  if (lockout_threshold === 0) {
    throw new Failure(
      'invalid',
      'user_lockout.lockout_threshold must be 1 or more; use disable_lockout to do without',
    );
  }
  return {
    disable_lockout: flagOf('user_lockout.disable_lockout', lockout.disable_lockout),
    lockout_threshold,
    lockout_duration: seconds('lockout_duration'),
    lockout_counter_reset: seconds('lockout_counter_reset'),
  };
}

const hostText = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** @param name of the setting, for the refusal */
function hostsOf(name: string, value: unknown): readonly string[] {
  const texts: unknown[] = Array.isArray(value) ? value : [undefined];
  return texts.map((text) => {
    const host =
      typeof text === 'string' && !/:\d+$/.test(text.replace(/^\[.*\]/, '')) ? bareHost(text) : '';
    if (host !== '') return host;
    throw new Failure(
      'invalid',
      `${name} must be names or addresses without a port, such as "gatehouse.example.com" or "[2001:db8::1]"`,
    );
  });
}

function reachOf(value: unknown): ReachRules {
  const name = 'credential_stores';
  const reach = section(name, value ?? {}, [
    'allow_loopback',
    'allowed_networks',
    'denied_networks',
  ]);
  const networksOf = (key: 'allowed_networks' | 'denied_networks'): readonly string[] => {
    const networks: unknown = reach[key] ?? [];
    if (!Array.isArray(networks) || !networks.every((one) => typeof one === 'string')) {
      throw new Failure('invalid', `${name}.${key} must be a list of address blocks`);
    }
    requireCidrs(`${name}.${key}`, networks);
    return networks;
  };
  return {
    allow_loopback: flagOf(`${name}.allow_loopback`, reach.allow_loopback),
    allowed_networks: networksOf('allowed_networks'),
    denied_networks: networksOf('denied_networks'),
  };
}

function corsOf(value: unknown): Cors {
  const cors = section('cors', value ?? {}, Object.keys(CORS_DEFAULTS));
  const textsOf = (name: keyof Cors): readonly string[] => {
    const texts = cors[name] ?? CORS_DEFAULTS[name];
    if (Array.isArray(texts) && texts.every((text) => typeof text === 'string' && text !== '')) {
      return texts;
    }
    throw new Failure('invalid', `cors.${name} must be a list of texts`);
  };
  const allowed_headers = textsOf('allowed_headers');
  const bad = allowed_headers.find((name) => !/^[A-Za-z0-9-]+$/.test(name));
  if (bad !== undefined) {
    throw new Failure('invalid', `cors.allowed_headers: "${bad}" is no name of a header`);
  }
  return { allowed_origins: textsOf('allowed_origins'), allowed_headers };
}

function rateLimitsOf(value: unknown): RateLimits {
  const limits = section('rate_limits', value ?? {}, ['disable', 'period', 'list', 'other']);
  const quotasOf = (kind: 'list' | 'other'): Quotas => {
    const byDefault = RATE_LIMIT_DEFAULTS[kind];
    const quotas = section(`rate_limits.${kind}`, limits[kind] ?? {}, Object.keys(byDefault));
    const quota = (name: keyof Quotas): number => {
      const count = countOf(`rate_limits.${kind}.${name}`, quotas[name], byDefault[name]);
      if (count > 0) return count;
      throw new Failure('invalid', `rate_limits.${kind}.${name} must be 1 or more`);
    };
    return {
      total: quota('total'),
      per_ip_address: quota('per_ip_address'),
      per_auth_token: quota('per_auth_token'),
    };
  };
  return {
    disable: flagOf('rate_limits.disable', limits.disable),
    period: secondsOf('rate_limits.period', limits.period, RATE_LIMIT_DEFAULTS.period),
    list: quotasOf('list'),
    other: quotasOf('other'),
  };
}

function telemetryOf(value: unknown): Config['telemetry'] {
  const name = 'unauthenticated_metrics_access';
  const telemetry = section('telemetry', value ?? {}, [name]);
  return { unauthenticated_metrics_access: flagOf(`telemetry.${name}`, telemetry[name]) };
}

function auditOf(value: unknown): Config['audit'] {
  const audit = section('audit', value ?? {}, [
    'wait_for_reads',
    'record_public_reads',
    'retention_days',
    'sinks',
  ]);
  const listed = audit.sinks ?? [];
  if (!Array.isArray(listed)) throw new Failure('invalid', 'audit.sinks must be a list');
  const sinks = listed.map((sink: unknown, index) => sinkOf(`audit.sinks[${index}]`, sink));
  const names = sinks.map(sinkName);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Failure('invalid', `audit.sinks has ${twice} twice`);
  return {
    wait_for_reads: flagOf('audit.wait_for_reads', audit.wait_for_reads),
    record_public_reads: flagOf('audit.record_public_reads', audit.record_public_reads),
    retention_days: countOf('audit.retention_days', audit.retention_days, 0),
    sinks,
  };
}

function recordsPathOf(name: string, value: unknown): string {
  const path = textOf(name, value);
  const because = judgePath(path);
  if (because !== undefined) throw new Failure('invalid', `${name}: ${because}`);
  return path;
}

function sinkOf(name: string, value: unknown): AuditSinkConfig {
  const { type } = section(name, value, ['type', 'path', 'address', 'facility', 'tag']);
  switch (choiceOf(`${name}.type`, type, ['file', 'syslog', 'stdout'])) {
    case 'file': {
      const sink = section(name, value, ['type', 'path']);
      return { type: 'file', path: recordsPathOf(`${name}.path`, sink.path) };
    }
    case 'stdout':
      section(name, value, ['type']);
      return { type: 'stdout' };
    case 'syslog': {
      const sink = section(name, value, ['type', 'address', 'facility', 'tag']);
      const address = textOf(`${name}.address`, sink.address, 'unix:///dev/log');
      parseSyslogAddress(`${name}.address`, address);
      const { facility = 'auth' } = sink;
      return {
        type: 'syslog',
        address,
        facility: choiceOf(`${name}.facility`, facility, SYSLOG_FACILITIES),
        tag: textOf(`${name}.tag`, sink.tag, 'gatehouse'),
      };
    }
  }
}
