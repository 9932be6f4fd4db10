import { z } from 'zod';
import { SEAL_TYPES } from '../config/seal-settings.ts';
import { BUILD_DATE, COMPATIBLE_VERSION } from '../core/version.ts';
import { opensByItself, type Seal, type SealKind } from './seal.ts';
import type { ShareCollection } from './share-collection.ts';

/** What is known of this node's seal at one moment. */
export interface SealFacts {
  /** Undefined before `sys/init`. */
  seal: Seal | undefined;
  /** The kind that the configuration asks for, which an uninitialised server will have. */
  configured: SealKind;
  sealed: boolean;
  /** Shares given so far, while sealed. */
  collection: ShareCollection | undefined;
  storage: 'sqlite' | 'postgres';
  /** Another seal is to take its place: `sys/unseal` with `migrate`. */
  migrating?: boolean;
  /** What the caller is told besides. */
  warning?: string;
}

const clusterFields = {
  cluster_name: z.string().optional(),
  cluster_id: z.string().optional(),
};

/** The answer of `sys/seal-status` and `sys/unseal`. */
export const sealStatusSchema = z.object({
  type: z.enum(SEAL_TYPES),
  initialized: z.boolean(),
  sealed: z.boolean(),
  t: z.int().describe('Shares that make the key.'),
  n: z.int().describe('Shares that there are.'),
  progress: z.int().describe('Shares given so far.'),
  nonce: z.string().describe('Names the unsealing under way.'),
  version: z.string(),
  build_date: z.string(),
  migration: z.boolean(),
  ...clusterFields,
  recovery_seal: z.boolean(),
  storage_type: z.enum(['sqlite', 'postgresql']),
  warnings: z.array(z.string()).optional(),
});

export function sealStatus(facts: SealFacts): z.output<typeof sealStatusSchema> {
  const { seal, sealed, collection } = facts;
  const kind = seal?.kind ?? facts.configured;
  return {
    type: kind,
    initialized: seal !== undefined,
    sealed,
    t: seal?.threshold ?? 0,
    n: seal?.shares ?? 0,
    progress: collection?.shares.length ?? 0,
    nonce: collection?.nonce ?? '',
    version: COMPATIBLE_VERSION,
    build_date: BUILD_DATE,
    migration: facts.migrating ?? false,
    ...clusterOf(facts),
    recovery_seal: opensByItself(kind),
    storage_type: facts.storage === 'postgres' ? 'postgresql' : 'sqlite',
    ...(facts.warning !== undefined && { warnings: [facts.warning] }),
  };
}

function clusterOf({ seal, sealed }: Pick<SealFacts, 'seal' | 'sealed'>) {
  if (seal === undefined || sealed) return {};
  return { cluster_name: seal.cluster_name, cluster_id: seal.cluster_id };
}

export const healthSchema = z.object({
  initialized: z.boolean(),
  sealed: z.boolean(),
  standby: z.boolean(),
  performance_standby: z.boolean(),
  replication_performance_mode: z.string(),
  replication_dr_mode: z.string(),
  server_time_utc: z.int().describe('Unix seconds.'),
  version: z.string(),
  enterprise: z.boolean(),
  ...clusterFields,
  echo_duration_ms: z.int(),
  clock_skew_ms: z.int(),
});

/** Status codes that a caller of `sys/health` wants instead of the usual ones. */
export interface HealthCodes {
  activecode?: number | undefined;
  sealedcode?: number | undefined;
  uninitcode?: number | undefined;
}

/**
 * The answer of `sys/health`. Every node of an installation answers reads and writes alike,
 * so none is ever a standby.
 *
 * @param now Unix milliseconds
 */
export function health(
  facts: Pick<SealFacts, 'seal' | 'sealed'>,
  codes: HealthCodes,
  now: number,
): { status: number; body: z.output<typeof healthSchema> } {
  const { seal, sealed } = facts;
  const status =
    seal === undefined
      ? (codes.uninitcode ?? 501)
      : sealed
        ? (codes.sealedcode ?? 503)
        : (codes.activecode ?? 200);
  const body = {
    initialized: seal !== undefined,
    sealed,
    standby: false,
    performance_standby: false,
    replication_performance_mode: 'disabled',
    replication_dr_mode: 'disabled',
    server_time_utc: Math.floor(now / 1000),
    version: COMPATIBLE_VERSION,
    enterprise: false,
    ...clusterOf(facts),
    echo_duration_ms: 0,
    clock_skew_ms: 0,
  };
  return { status, body };
}

export const leaderSchema = z.object({
  ha_enabled: z.boolean(),
  is_self: z.boolean(),
  active_time: z.string(),
  leader_address: z.string(),
  leader_cluster_address: z.string(),
  performance_standby: z.boolean(),
  performance_standby_last_remote_wal: z.int(),
});

/** The answer of `sys/leader`: there is none among equals. */
export const LEADER: z.output<typeof leaderSchema> = {
  ha_enabled: false,
  is_self: false,
  active_time: '0001-01-01T00:00:00Z',
  leader_address: '',
  leader_cluster_address: '',
  performance_standby: false,
  performance_standby_last_remote_wal: 0,
};
