/** Every setting of the configuration file: its kind, its default, and what it is. */

import { z } from 'zod';
import { CLUSTER_NAME } from '../core/clusters.ts';
import { CORS_DEFAULTS } from '../core/cors.ts';
import { invalid } from '../core/failure.ts';
import { judgePath } from './audit-file.ts';
import { sinkName } from './audit-sink.ts';
import {
  absentAsNull,
  address,
  blocks,
  choice,
  count,
  flag,
  hosts,
  ignored,
  mustBeOneOf,
  oneOf,
  readBy,
  seconds,
  section,
  text,
  texts,
} from './kinds.ts';
import { kmsLibraries } from './kms-library.ts';
import { listener, publicListener } from './listeners.ts';
import { smtp, webhooks } from './outgoing.ts';
import { parseRecoveryKey } from './recovery-key.ts';
import { formerSeal, seal } from './seal-settings.ts';
import { sessionLimits } from './session-limits.ts';
import { storageBuckets } from './storage-buckets.ts';
import { parseSyslogAddress, SYSLOG_FACILITIES } from './syslog.ts';
import { MOST_THREADS } from './threads.ts';

export const publicAddress = readBy(address, ({ written, at }) => {
  if (!written.startsWith(':') && at.port !== 0) return written;
  throw invalid(' must name a host and a port that clients can reach');
}).meta({ takes: '`HOST:PORT`' });

const STORAGE_TYPE = {
  takes: '`sqlite`, `postgres`',
  otherwise: 'none; needed',
  description: 'where everything is kept',
};
const storage = z.preprocess(
  (value) => value ?? {},
  z.discriminatedUnion(
    'type',
    [
      z.strictObject({
        type: z.literal('sqlite').meta(STORAGE_TYPE),
        path: text.meta({
          otherwise: 'none; needed for `sqlite`',
          description: 'folder of the database',
        }),
        url: ignored,
        node_name: ignored,
      }),
      z.strictObject({
        type: z.literal('postgres').meta(STORAGE_TYPE),
        path: ignored,
        url: text.meta({
          otherwise: 'none; needed for `postgres`',
          description:
            '`postgres://USER:PASSWORD@HOST:PORT/DATABASE`, with [parameters for TLS](#tls-to-postgresql)',
        }),
        node_name: text.meta({
          otherwise: 'none; needed for `postgres`',
          description: "this node's name; no two running nodes share one",
        }),
      }),
    ],
    { error: oneOf(mustBeOneOf(['sqlite', 'postgres'])) },
  ),
);

const recordsPath = readBy(text, (path) => {
  const because = judgePath(path);
  if (because === undefined) return path;
  throw invalid(`: ${because}`);
}).meta({ takes: 'text' });

const syslogAddress = readBy(text, (written) => {
  parseSyslogAddress('', written);
  return written;
}).meta({ takes: '`udp://HOST:PORT`, `tcp://HOST:PORT`, `unix://PATH`' });

const SINK_TYPE = {
  takes: '`file`, `syslog`, `stdout`',
  otherwise: 'none; needed',
  description: 'what the records are put into',
};
const sink = z.discriminatedUnion(
  'type',
  [
    z.strictObject({
      type: z.literal('file').meta(SINK_TYPE),
      path: recordsPath.meta({
        otherwise: 'none; needed for `file`',
        description: 'the file, by its absolute path; see [audit](audit.md)',
      }),
    }),
    z.strictObject({ type: z.literal('stdout').meta(SINK_TYPE) }),
    z.strictObject({
      type: z.literal('syslog').meta(SINK_TYPE),
      address: syslogAddress.prefault('unix:///dev/log').describe('of `syslog`'),
      facility: choice(SYSLOG_FACILITIES).default('auth').describe('of `syslog`'),
      tag: text.default('gatehouse').describe('of `syslog`'),
    }),
  ],
  { error: oneOf(mustBeOneOf(['file', 'syslog', 'stdout'])) },
);

const sinks = readBy(z.array(sink, ' must be a list'), (listed) => {
  const names = listed.map(sinkName);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return listed;
  throw invalid(` has ${twice} twice`);
}).meta({ takes: 'list' });

const userLockout = {
  disable_lockout: flag.default(false).describe('failed log-ins lock nobody'),
  lockout_threshold: count(1, '; use disable_lockout to do without')
    .default(5)
    .describe('failed log-ins in a row that lock a name'),
  lockout_duration: seconds.default(900).describe('seconds that it is locked after the last'),
  lockout_counter_reset: seconds
    .default(900)
    .describe('seconds without a failure after which earlier ones are forgotten'),
};
/** When failed log-ins under one name lock it. Times in seconds. */
export type UserLockout = z.output<z.ZodObject<typeof userLockout>>;
export const USER_LOCKOUT_DEFAULTS: UserLockout = z.object(userLockout).parse({});

/** How many requests one endpoint takes in a period, altogether and from each. */
const quotas = (byDefault: number, perToken: number, what: string) =>
  section({
    total: count(1).default(byDefault).describe(what),
    per_ip_address: count(1).default(byDefault).describe('those of one address'),
    per_auth_token: count(1).default(perToken).describe('those with one token'),
  });

const rateLimits = {
  disable: flag.default(false).describe("the broker's API takes whatever comes"),
  period: seconds
    .default(30)
    .describe('seconds that the numbers below are for; for each endpoint of its own'),
  list: quotas(1_500, 150, 'requests for a list'),
  other: quotas(
    30_000,
    3_000,
    "all other requests. Both are counted twice over: for requests with a good token, and for all others, so that neither uses the other's up. When a total is used up, each party (a user; without a token an address, or an IPv6 network of 48 bits) still has a hundredth of it, less when there are more than a hundred parties",
  ),
};
/** How many requests one endpoint takes in a period (seconds); the rest hear when to come again. */
export type RateLimits = z.output<z.ZodObject<typeof rateLimits>>;
export const RATE_LIMIT_DEFAULTS: RateLimits = z.object(rateLimits).parse({});

const headerNames = readBy(texts, (names) => {
  const bad = names.find((name) => !/^[A-Za-z0-9-]+$/.test(name));
  if (bad === undefined) return names;
  throw invalid(`: "${bad}" is no name of a header`);
}).meta({ takes: 'list of texts' });

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const settings = z.strictObject({
  listener,
  public_listener: publicListener,
  api_address: text.optional().meta({
    otherwise: 'scheme and address of the listener',
    description: 'where clients reach this server, for links in answers',
  }),
  proxy_listener: section({
    address: address
      .prefault('127.0.0.1:9202')
      .describe("where clients of sessions come to: this server's own worker"),
    public_address: publicAddress
      .optional()
      .describe('where clients reach it, if that is elsewhere'),
  }),
  worker_listener: absentAsNull(
    z
      .strictObject({
        address: address.prefault('127.0.0.1:9201').meta({
          description:
            'where workers that stand alone come to, by TLS with certificates of their own; without this section there are none. See [workers](workers.md)',
        }),
        public_address: publicAddress.optional().meta({
          otherwise: 'none; workers that are connected to another server are not asked',
          description:
            'where all workers reach it; of several servers, for Vault servers that are asked through workers',
        }),
      })
      .optional(),
  ),
  storage,
  threads: count(1)
    .max(MOST_THREADS, ` must be ${MOST_THREADS} or fewer`)
    .optional()
    .meta({
      takes: `number, 1 to ${MOST_THREADS}`,
      otherwise: 'one for each core, and no more than one for each 512 MiB of memory',
      description:
        'threads that answer requests, of which each takes some 120 MB at rest; where the system does not share connections out (others than Linux) there is one; see [load](load.md)',
    }),
  cluster_name: absentAsNull(
    readBy(z.string(' must be a text'), (name) => {
      if (name === '' || CLUSTER_NAME.test(name)) return name;
      throw invalid(
        ' must be letters, digits, dots and hyphens, 63 at most, and begin with a letter or a digit',
      );
    }).default(''),
  ).meta({
    takes: 'text',
    otherwise: 'none: the one cluster that there is',
    description:
      'which of several clusters on one database this server belongs to, see [clusters](clusters.md); servers of one cluster have the same',
  }),
  seal,
  former_seal: formerSeal,
  kms_library: kmsLibraries.describe('libraries of devices that hold keys'),
  recovery_key: readBy(text, (key) => parseRecoveryKey('', key))
    .meta({ takes: 'base64 of 32 bytes' })
    .optional()
    .describe("for the recovery workflow of the broker's clients"),
  audit: section({
    wait_for_reads: flag.default(false).describe('an answer to a read waits for its record'),
    record_public_reads: flag
      .default(false)
      .describe('CRLs, OCSP answers and CA certificates are recorded, not counted'),
    retention_days: count(0)
      .default(0)
      .describe('days after which records are deleted once every sink has them; 0 keeps them'),
    sinks: absentAsNull(sinks.default([])).describe(
      'where records go besides the database, see [audit](audit.md)',
    ),
  }),
  user_lockout: section(userLockout),
  rate_limits: section(rateLimits),
  session_limits: section(sessionLimits),
  allowed_hosts: hosts.optional().meta({
    otherwise: 'any',
    description:
      'names and addresses, without ports, that requests may be for by their `Host` header, besides `localhost`, loopback addresses and the address that a connection comes to; others are answered 421. Where certificates name this server for CRLs and OCSP, that name belongs here. A development server answers only to these and to what `-allowed-hosts` names. Set it in production, too, where browsers reach the server: endpoints that change something without a token (`sys/init`, `sys/unseal`, `sys/rekey…`, log-ins) refuse pages of other origins in any case, and only the `Host` header tells a page whose name was made to lead here',
  }),
  credential_stores: section({
    allow_loopback: flag.default(false).meta({
      otherwise: '`false` (`true` for a development server)',
      description:
        "a Vault of the broker's credential stores may be on this machine, by loopback or an address of one of its interfaces, or be this server",
    }),
    allowed_networks: absentAsNull(blocks.default([])).meta({
      otherwise: 'all',
      description: 'where those Vaults may be',
    }),
    denied_networks: absentAsNull(blocks.default([])).describe('where they must not be'),
  }),
  policy_services: section({
    allow_loopback: flag.default(false).meta({
      otherwise: '`false` (`true` for a development server)',
      description:
        'an external policy service of a mount may be on this machine, by loopback or an address of one of its interfaces, or be this server',
    }),
    allowed_networks: absentAsNull(blocks.default([])).meta({
      otherwise: 'all',
      description: 'where those services may be',
    }),
    denied_networks: absentAsNull(blocks.default([])).describe('where they must not be'),
  }),
  storage_buckets: storageBuckets,
  webhooks,
  smtp,
  cors: section({
    allowed_origins: absentAsNull(texts.default(CORS_DEFAULTS.allowed_origins)).meta({
      otherwise: "`serve://boundary`, the desktop client's",
      description: "origins whose pages may call the broker's API; `*` is any",
    }),
    allowed_headers: absentAsNull(headerNames.default(CORS_DEFAULTS.allowed_headers)).describe(
      'request headers they may send besides those that the API knows',
    ),
  }),
  telemetry: section({
    unauthenticated_metrics_access: flag.default(false).describe('`sys/metrics` needs no token'),
  }),
  log_level: absentAsNull(choice(LOG_LEVELS).default('info')).describe('the least that is logged'),
});
export type Settings = z.output<typeof settings>;
