import { z } from 'zod';
import { comparedBy } from '../../core/comparison.ts';
import { parseDuration } from '../../core/durations.ts';
import { invalid } from '../../core/failure.ts';
import { choice, durationText, flag, integer } from '../../core/fields.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import { mergePatch, patchOf } from '../../core/patches.ts';
import { MOST_SHARDS } from './shards.ts';

/** Most entries of a CRL unless configured; also where 0, or a number below -1, is configured. */
const MAX_ENTRIES = 100_000;

const boundOf = (entries: number): number =>
  entries === 0 || entries < -1 ? MAX_ENTRIES : entries;

const entryCount = comparedBy(integer, {
  form: (read) => (typeof read === 'number' ? boundOf(read) : read),
});

/** How a mount's CRLs are made; durations stay in the words they were written in. */
const crlFields = {
  expiry: durationText('72h').describe(
    'Validity of a CRL. One younger than 30 seconds is not built anew for its age.',
  ),
  disable: flag(false).describe('Serve an empty, signed CRL and build no other.'),
  ocsp_disable: flag(false).describe('Answer every OCSP request with "unauthorized".'),
  ocsp_expiry: durationText('12h').describe(
    'How long an OCSP answer may be kept. 0: no NextUpdate.',
  ),
  ocsp_delegated_responder: flag(false).describe(
    'Answer OCSP by a responder with a short-lived certificate of the issuer, and not by the issuer itself.',
  ),
  ocsp_unissued_status: choice(['good', 'unknown'], 'good').describe(
    'What OCSP answers of a serial number of which no certificate is stored.',
  ),
  auto_rebuild: flag(false).describe(
    'Build the CRL when it is about to expire, not at each revocation.',
  ),
  auto_rebuild_grace_period: durationText('12h').describe(
    'How long before its expiry; shorter than expiry.',
  ),
  enable_delta: flag(false).describe(
    'Build CRLs of what was revoked since the complete one; needs auto_rebuild.',
  ),
  delta_rebuild_interval: durationText('15m').describe(
    'How long a delta CRL stays as it is when more is revoked; at least one second, and shorter than expiry.',
  ),
  allow_expired_cert_revocation: flag(false).describe(
    'Revoke certificates that have ended, too; without it they get a warning.',
  ),
  cross_cluster_revocation: flag(false).describe(
    'Ask the cluster that issued a certificate to revoke it by its serial number; needs auto_rebuild.',
  ),
  unified_crl: flag(false).describe(
    'Build CRLs of what any cluster has revoked, too, and answer unified-ocsp; needs auto_rebuild.',
  ),
  unified_crl_on_existing_paths: flag(false).describe(
    'Serve these at the ordinary addresses, too; needs unified_crl.',
  ),
  max_crl_entries: entryCount(MAX_ENTRIES).describe(
    'Most entries of a CRL; -1: as many as there are.',
  ),
  crl_shards: integer(0).describe(
    'Of how many CRLs, each for a part of the certificates, those that are issued from now on name one; needs {{crl_shard}} in the URLs. 0 or 1: of none.',
  ),
};
export const crlConfigSchema = z.object(crlFields);
export type CrlConfig = z.output<typeof crlConfigSchema>;
export const crlPatchSchema = patchOf(crlFields);
export type CrlPatch = z.output<typeof crlPatchSchema>;

export const DEFAULT_CRL_CONFIG: CrlConfig = crlConfigSchema.parse({});

/**
 * The durations of a configuration, in seconds: worked out once for as long as it is in use.
 *
 * @throws Failure `invalid` naming the first that is none
 */
export const crlDurations = memoizeWeak((config: CrlConfig) => ({
  expiry: parseSeconds(config, 'expiry'),
  ocsp_expiry: parseSeconds(config, 'ocsp_expiry'),
  auto_rebuild_grace_period: parseSeconds(config, 'auto_rebuild_grace_period'),
  delta_rebuild_interval: parseSeconds(config, 'delta_rebuild_interval'),
}));

function parseSeconds(
  config: CrlConfig,
  name: 'expiry' | 'ocsp_expiry' | 'auto_rebuild_grace_period' | 'delta_rebuild_interval',
): number {
  const seconds = parseDuration(config[name]);
  if (seconds === undefined) {
    throw invalid(
      `given ${name} could not be decoded: "${config[name]}" is not a duration such as "72h"`,
    );
  }
  return Math.trunc(seconds);
}

/**
 * Applies what was sent to the present settings; a refusal leaves all of them as they are.
 *
 * @throws Failure `invalid` for what is first wrong, in Vault's order
 * @see P-119, P-120, P-340
 */
export function planCrlConfig(
  present: CrlConfig,
  patch: CrlPatch,
  { local }: { local: boolean },
): CrlConfig {
  const next = mergePatch(present, patch);
  next.max_crl_entries = boundOf(next.max_crl_entries);
  const {
    expiry,
    ocsp_expiry,
    auto_rebuild_grace_period: grace,
    delta_rebuild_interval: interval,
  } = crlDurations(next);
  if (ocsp_expiry < 0) {
    throw invalid(`ocsp_expiry must be greater than or equal to 0, got ${ocsp_expiry}`);
  }
  if (expiry <= 0) throw invalid('expiry must be longer than zero');
  // What was stored before these were refused is left as it is until it is sent.
  if (patch.delta_rebuild_interval !== undefined && interval < 1) {
    throw invalid('delta_rebuild_interval must be at least one second');
  }
  if (patch.auto_rebuild_grace_period !== undefined && grace < 0) {
    throw invalid('auto_rebuild_grace_period must not be negative');
  }
  if (next.auto_rebuild && grace >= expiry) {
    throw invalid(
      `CRL auto-rebuilding grace period (${next.auto_rebuild_grace_period}) must be strictly shorter than CRL expiry (${next.expiry}) value when auto rebuilding of CRLs is enabled`,
    );
  }
  if (next.enable_delta && interval >= expiry) {
    throw invalid(
      `CRL delta rebuild window (${next.delta_rebuild_interval}) must be strictly shorter than CRL expiry (${next.expiry}) value when delta CRLs are enabled`,
    );
  }
  if (next.enable_delta && !next.auto_rebuild) {
    throw invalid(
      'Delta CRLs cannot be enabled when auto rebuilding is disabled as the complete CRL is always regenerated!',
    );
  }
  if (next.crl_shards < 0 || next.crl_shards > MOST_SHARDS) {
    throw invalid(`crl_shards must be from 0 to ${MOST_SHARDS}, got ${next.crl_shards}`, {
      fields: { crl_shards: `0 to ${MOST_SHARDS}` },
    });
  }
  refuseClusterSettings(next, local);
  return next;
}

const CLUSTER_SETTINGS = [
  'cross_cluster_revocation',
  'unified_crl',
  'unified_crl_on_existing_paths',
] as const;

/** @see P-475 */
function refuseClusterSettings(next: CrlConfig, local: boolean): void {
  const { auto_rebuild, cross_cluster_revocation, unified_crl } = next;
  for (const name of CLUSTER_SETTINGS) {
    if (next[name] && local) {
      throw invalid(`${name} cannot be enabled on a local mount: it has one cluster alone`);
    }
  }
  if (cross_cluster_revocation && !auto_rebuild) {
    throw invalid('cross-cluster revocation cannot be enabled when auto rebuilding is disabled');
  }
  if (unified_crl && !auto_rebuild) {
    throw invalid('unified CRL cannot be enabled when auto rebuilding is disabled');
  }
  if (next.unified_crl_on_existing_paths && !unified_crl) {
    throw invalid('cannot enable unified_crl_on_existing_paths without first enabling unified_crl');
  }
}
