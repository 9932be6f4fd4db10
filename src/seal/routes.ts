import { hostname } from 'node:os';
import { z } from 'zod';
import type { App } from '../app/app.ts';
import { bare, flat, nothing } from '../app/output.ts';
import { type AnyRoute, vaultRoute } from '../app/route.ts';
import { invalid } from '../core/failure.ts';
import { flag, integer, list, longText, optional, text } from '../core/fields.ts';
import { COMPATIBLE_VERSION } from '../core/version.ts';
import { generateRootRoutes } from './generate-root/routes.ts';
import { rejectPgpKeys } from './initialisation.ts';
import { type Initialised, initialise, rotateKeys, sealServer } from './operations.ts';
import { rekeySystemRoutes } from './rekey/routes.ts';
import { shareText } from './share-text.ts';
import {
  health,
  healthSchema,
  LEADER,
  leaderSchema,
  sealStatus,
  sealStatusSchema,
} from './status.ts';
import { readSealFacts, unseal } from './unsealing.operations.ts';

/** What whoever seals is told where there is no record yet. */
export const UNRECORDED =
  "sealed, but the database did not take the record: it is kept in memory until it does, and is in the server's log";

const statusCode = (state: string) =>
  optional(integer()).describe(`Status code to answer with when the server is ${state}.`);

const initialised = z.object({
  keys: z.array(z.string()).describe('Shares of the unseal key as hex; none with a key file.'),
  keys_base64: z.array(z.string()),
  recovery_keys: z.array(z.string()).optional().describe('Shares of the recovery key as hex.'),
  recovery_keys_base64: z.array(z.string()).optional(),
  root_token: z.string(),
});

/** The shares and the token as text; the shares' bytes are wiped. */
function describeInitialised({
  kind,
  shares,
  root_token,
}: Initialised): z.output<typeof initialised> {
  const texts = shares.map(shareText);
  for (const share of shares) share.fill(0);
  const keys = texts.map((share) => share.hex);
  const keys_base64 = texts.map((share) => share.base64);
  return kind === 'shamir'
    ? { keys, keys_base64, root_token }
    : {
        keys: [],
        keys_base64: [],
        recovery_keys: keys,
        recovery_keys_base64: keys_base64,
        root_token,
      };
}

const nodesSchema = z.object({
  nodes: z.array(
    z.object({
      hostname: z.string(),
      api_address: z.string(),
      cluster_address: z.string(),
      active_node: z.boolean(),
      last_echo: z.null(),
      version: z.string(),
      upgrade_version: z.string(),
      redundancy_zone: z.string(),
    }),
  ),
});

const keyStatus = z.object({
  term: z.int().describe('Generation of the data keys.'),
  install_time: z.string().describe('RFC 3339.'),
  encryptions: z.int(),
});

/** How it stands with the token of a transit seal is known where that is renewed. */
const withoutTransit = ({ config }: App): boolean => config.seal.type !== 'transit';

/** Two paths of one endpoint. */
const ROTATIONS = ['/v1/sys/rotate', '/v1/sys/rotate/keyring'] as const;

export const sealRoutes: AnyRoute[] = [
  vaultRoute({
    id: 'read-initialization-status',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/sys/init',
    summary: 'Say whether the server is initialised',
    access: 'public',
    while_sealed: true,
    input: z.object({}),
    output: bare(z.object({ initialized: z.boolean() })),
    failures: [],
    run: async (app) => ({ bare: { initialized: (await readSealFacts(app)).seal !== undefined } }),
  }),
  vaultRoute({
    id: 'initialize',
    method: 'POST',
    path: '/v1/sys/init',
    summary: 'Initialise the server: make its keys, their shares and the first token',
    access: 'public',
    while_sealed: true,
    audit: ['secret_shares', 'secret_threshold', 'recovery_shares', 'recovery_threshold'],
    input: z.object({
      secret_shares: optional(integer()).describe('How many shares of the unseal key to make.'),
      secret_threshold: optional(integer()).describe('How many of them unseal the server.'),
      recovery_shares: optional(integer()).describe('With a key file: shares of the recovery key.'),
      recovery_threshold: optional(integer()).describe('With a key file: how many of them count.'),
      stored_shares: optional(integer()).describe('Taken and without effect.'),
      pgp_keys: optional(list()).describe('Not supported.'),
      recovery_pgp_keys: optional(list()).describe('Not supported.'),
      root_token_pgp_key: optional(longText()).describe('Not supported.'),
    }),
    output: bare(initialised),
    failures: ['invalid', 'conflict', 'unavailable'],
    run: async (app, caller, input) => {
      const {
        pgp_keys,
        recovery_pgp_keys,
        root_token_pgp_key,
        stored_shares: _,
        ...request
      } = input;
      rejectPgpKeys({ pgp_keys, recovery_pgp_keys, root_token_pgp_key });
      return { bare: describeInitialised(await initialise(app, caller, request)) };
    },
  }),
  vaultRoute({
    id: 'seal-status',
    on_any_thread: withoutTransit,
    method: 'GET',
    path: '/v1/sys/seal-status',
    summary: 'Read how the seal stands',
    access: 'public',
    while_sealed: true,
    input: z.object({}),
    output: bare(sealStatusSchema),
    failures: [],
    run: async (app) => ({ bare: sealStatus(await readSealFacts(app)) }),
  }),
  vaultRoute({
    id: 'unseal',
    method: 'POST',
    path: '/v1/sys/unseal',
    summary: 'Give one share of the unseal key',
    access: 'public',
    while_sealed: true,
    audit: ['reset', 'migrate'],
    input: z.object({
      key: optional(text()).describe('One share, as hex or base64.'),
      reset: flag(false).describe(
        'Forget the shares given so far, if any. Takes one of the shares as `key`; without it they stay, and a warning says so.',
      ),
      migrate: flag(false).describe(
        'Move to the seal of the configuration from its `former_seal`, by shares of its unseal or recovery key.',
      ),
    }),
    output: bare(sealStatusSchema),
    failures: ['invalid'],
    run: async (app, caller, input) => ({ bare: sealStatus(await unseal(app, caller, input)) }),
  }),
  vaultRoute({
    id: 'seal',
    method: 'POST',
    path: '/v1/sys/seal',
    seals: true,
    summary: 'Seal this server: its keys are wiped from memory',
    access: { capability: 'update', sudo: true },
    input: z.object({}),
    output: nothing,
    failures: ['forbidden'],
    run: async (app, caller) => {
      return (await sealServer(app, caller)) ? {} : { warnings: [UNRECORDED] };
    },
  }),
  vaultRoute({
    id: 'read-health-status',
    on_any_thread: withoutTransit,
    method: 'GET',
    path: '/v1/sys/health',
    summary: 'Say how the server is, by status code',
    access: 'public',
    while_sealed: true,
    counted: true,
    input: z.object({
      activecode: statusCode('active'),
      sealedcode: statusCode('sealed'),
      uninitcode: statusCode('not initialised'),
      standbycode: statusCode('a standby (it never is)'),
      performancestandbycode: statusCode('a performance standby (it never is)'),
      drsecondarycode: statusCode('a secondary (it never is)'),
      standbyok: optional(text()).describe('Whether a standby counts as active.'),
      perfstandbyok: optional(text()).describe('Whether a performance standby counts as active.'),
    }),
    output: bare(healthSchema),
    statuses: ['2XX', '3XX', '4XX', '5XX'],
    failures: ['invalid'],
    run: async (app, _caller, input) => {
      for (const [name, code] of Object.entries(input)) {
        if (typeof code === 'number' && (code < 200 || code > 599)) {
          throw invalid(`${name} must be a status code, 200 to 599`);
        }
      }
      const { status, body } = health(await readSealFacts(app), input, app.now());
      return { status, bare: body };
    },
  }),
  vaultRoute({
    id: 'leader-status',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/sys/leader',
    summary: 'Say which node leads (none does)',
    access: 'public',
    while_sealed: true,
    input: z.object({}),
    output: bare(leaderSchema),
    failures: [],
    run: async () => ({ bare: LEADER }),
  }),
  vaultRoute({
    id: 'ha-status',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/sys/ha-status',
    summary: 'Describe this node',
    access: { capability: 'read' },
    input: z.object({}),
    output: flat(nodesSchema),
    failures: [],
    run: async (app) => ({
      data: {
        nodes: [
          {
            hostname: hostname(),
            api_address: app.config.api_address,
            cluster_address: '',
            active_node: true,
            last_echo: null,
            version: COMPATIBLE_VERSION,
            upgrade_version: COMPATIBLE_VERSION,
            redundancy_zone: '',
          },
        ],
      },
    }),
  }),
  vaultRoute({
    id: 'encryption-key-status',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/sys/key-status',
    summary: 'Read which generation of data keys is in use',
    access: { capability: 'read' },
    input: z.object({}),
    output: flat(keyStatus),
    failures: ['unavailable'],
    run: async (app) => {
      const { term, created_at, encryptions } = app.barrier.generation();
      const install_time = new Date(created_at * 1000).toISOString();
      return { data: { term, install_time, encryptions } };
    },
  }),
  ...ROTATIONS.map((path) =>
    vaultRoute({
      id: path === '/v1/sys/rotate' ? 'encryption-key-rotate' : 'encryption-key-rotate-keyring',
      method: 'POST',
      path,
      summary: 'Make a new generation of data keys',
      access: { capability: 'update', sudo: true },
      sets_also: ROTATIONS.flatMap((other) =>
        other === path ? [] : [{ path: other, fields: [], when: [] }],
      ),
      input: z.object({}),
      output: nothing,
      failures: ['conflict', 'unavailable'],
      run: async (app, caller) => {
        await rotateKeys(app, caller);
        return {};
      },
    }),
  ),
  ...rekeySystemRoutes,
  ...generateRootRoutes,
];
