import { z } from 'zod';
import { parseDuration } from '../../core/durations.ts';
import { invalid } from '../../core/failure.ts';
import { duration, durationText, flag, integer, optional } from '../../core/fields.ts';
import { mergePatch, patchOf } from '../../core/patches.ts';

/** What can be tidied, each by a flag of its own. */
export const TIDY_FLAGS = [
  'tidy_cert_store',
  'tidy_revoked_certs',
  'tidy_revoked_cert_issuer_associations',
  'tidy_expired_issuers',
  'tidy_move_legacy_ca_bundle',
  'tidy_invalid_certs',
  'tidy_acme',
  'tidy_revocation_queue',
  'tidy_cross_cluster_revoked_certs',
  'tidy_cert_metadata',
  'tidy_cmpv2_nonce_store',
] as const;
export type TidyFlag = (typeof TIDY_FLAGS)[number];

const flags = {
  tidy_cert_store: flag(false).describe(
    'Remove certificates that ended longer than safety_buffer ago; revocations stay.',
  ),
  tidy_revoked_certs: flag(false).describe(
    'Remove revoked certificates that ended longer than revoked_safety_buffer ago, and their revocations: what the cluster that issued them revoked.',
  ),
  tidy_revoked_cert_issuer_associations: flag(false).describe(
    'Find the issuers of revoked certificates of which they are not known.',
  ),
  tidy_expired_issuers: flag(false).describe(
    'Remove issuers that ended longer than issuer_safety_buffer ago, but for the default one; keys stay.',
  ),
  tidy_move_legacy_ca_bundle: flag(false).describe(
    'Move the CA bundle of old versions away. There is none here: nothing is done.',
  ),
  tidy_invalid_certs: flag(false).describe('Remove stored certificates that cannot be read.'),
  tidy_acme: flag(false).describe('Tidy ACME accounts and orders.'),
  tidy_revocation_queue: flag(false).describe(
    'Remove what a cluster was asked to revoke longer than revocation_queue_safety_buffer ago, and did not.',
  ),
  tidy_cross_cluster_revoked_certs: flag(false).describe(
    'The same as tidy_revoked_certs of what another cluster than that which issued them revoked, too or alone.',
  ),
  tidy_cert_metadata: flag(false).describe('Remove metadata of certificates that have ended.'),
  tidy_cmpv2_nonce_store: flag(false).describe('Remove old nonces of CMPv2.'),
};

const DEFAULT_BUFFER = 259_200;

const buffers = {
  safety_buffer: duration(DEFAULT_BUFFER).describe(
    'How long a certificate stays after its end. Seconds, at least 1.',
  ),
  revoked_safety_buffer: optional(duration()).describe(
    'The same of revoked certificates; unless given, as safety_buffer.',
  ),
  issuer_safety_buffer: duration(31_536_000).describe('The same of issuers.'),
  acme_account_safety_buffer: duration(2_592_000).describe(
    'How long an ACME account may be without orders.',
  ),
  revocation_queue_safety_buffer: duration(172_800).describe(
    'How long a request to revoke may be queued.',
  ),
};

const pace = {
  pause_duration: durationText('0s').describe('How long to wait after each row.'),
  page_size: integer(1000).describe('Most rows that are read at once; at least 1.'),
};

export const tidySchema = z.object({
  ...flags,
  tidy_revocation_list: optional(flag()).describe('Old name of tidy_revoked_certs.'),
  ...buffers,
  ...pace,
  dry_run: flag(false).describe('Only count what would be removed, and remove nothing.'),
});

const autoFields = {
  enabled: flag(false).describe('Tidy from time to time.'),
  interval_duration: duration(43_200).describe(
    'From the end of one tidying to the next, at least one second. Seconds.',
  ),
  min_startup_backoff_duration: duration(300).describe(
    'After a start of the server nothing is tidied by itself for so long at least.',
  ),
  max_startup_backoff_duration: duration(900).describe('The same at most.'),
  ...flags,
  ...buffers,
  ...pace,
  maintain_stored_certificate_counts: flag(false).describe(
    'Tell in tidy-status how many certificates and revocations are stored.',
  ),
  publish_stored_certificate_count_metrics: flag(false).describe(
    'Tell them among the metrics as well; needs maintain_stored_certificate_counts.',
  ),
};
const storedAutoSchema = z.object(autoFields);
type StoredAuto = z.output<typeof storedAutoSchema>;
export const autoTidyPatchSchema = patchOf(autoFields);
export type AutoTidyPatch = z.output<typeof autoTidyPatchSchema>;
/** As it is read: the buffer of revoked certificates is there in any case. */
export const autoTidySchema = storedAutoSchema.extend({ revoked_safety_buffer: z.int().min(0) });
export type AutoTidy = z.output<typeof autoTidySchema>;

/** What one tidying does. */
export type TidyRequest = Record<TidyFlag, boolean> &
  Record<Buffer, number> & { pause_duration: string; page_size: number; dry_run: boolean };
type Buffer = keyof typeof buffers;
const BUFFERS = [
  'safety_buffer',
  'revoked_safety_buffer',
  'issuer_safety_buffer',
  'acme_account_safety_buffer',
  'revocation_queue_safety_buffer',
] as const satisfies Buffer[];

/** @throws Failure `invalid` for a buffer of nothing, a page of nothing, or a pause that is none */
export function planTidy(sent: z.output<typeof tidySchema>): TidyRequest {
  const { tidy_revocation_list, revoked_safety_buffer = sent.safety_buffer, ...rest } = sent;
  const request: TidyRequest = {
    ...rest,
    tidy_revoked_certs: rest.tidy_revoked_certs || (tidy_revocation_list ?? false),
    revoked_safety_buffer,
  };
  for (const name of BUFFERS) {
    if (request[name] < 1) throw invalid(`${name} must be greater than zero`);
  }
  checkPace(request);
  return request;
}

function checkPace({
  pause_duration,
  page_size,
}: Pick<TidyRequest, 'pause_duration' | 'page_size'>) {
  if (pauseOf({ pause_duration }) === undefined) {
    throw invalid(
      `Error parsing pause_duration: "${pause_duration}" is not a duration such as "10ms"`,
    );
  }
  if (page_size < 1) throw invalid('page_size must be greater than zero');
}

/** Milliseconds; undefined for what is no duration, or a negative one. */
export function pauseOf({
  pause_duration,
}: Pick<TidyRequest, 'pause_duration'>): number | undefined {
  const seconds = parseDuration(pause_duration);
  return seconds === undefined || seconds < 0 ? undefined : seconds * 1000;
}

/** Whether anything is to be tidied at all. */
export const isAnySelected = (request: Record<TidyFlag, boolean>): boolean =>
  TIDY_FLAGS.some((name) => request[name]);

/** @param body JSON; empty: none was written */
export function parseAutoTidy(body: string): StoredAuto {
  // A setting that a later program added is missing in what an earlier one wrote.
  return storedAutoSchema.parse(body === '' ? {} : JSON.parse(body));
}

export function describeAutoTidy(stored: StoredAuto): AutoTidy {
  const { revoked_safety_buffer = stored.safety_buffer, ...rest } = stored;
  return { ...rest, revoked_safety_buffer };
}

/**
 * Applies what was sent to the present configuration.
 *
 * @throws Failure `invalid` for what is first wrong
 * @see P-357, P-371
 */
export function planAutoTidy(present: StoredAuto, patch: AutoTidyPatch): StoredAuto {
  const next = mergePatch<StoredAuto>(present, patch);
  const effective = describeAutoTidy(next);
  if (next.enabled && !isAnySelected(next)) {
    throw invalid(
      `Auto-tidy enabled but no tidy operations were requested. Enable at least one tidy operation to be run (${TIDY_FLAGS.join(' / ')}).`,
    );
  }
  // Without a pause it would be tidied all the time; what was stored before this was refused is left as it is.
  if (patch.interval_duration !== undefined && next.interval_duration < 1) {
    throw invalid('given interval_duration must be at least one second');
  }
  for (const name of BUFFERS) {
    if (effective[name] < 1) throw invalid(`given ${name} must be at least one second`);
  }
  checkPace(next);
  if (next.min_startup_backoff_duration > next.max_startup_backoff_duration) {
    throw invalid(
      'max_startup_backoff_duration must be greater or equal to min_startup_backoff_duration',
    );
  }
  if (next.publish_stored_certificate_count_metrics && !next.maintain_stored_certificate_counts) {
    throw invalid(
      'Can not publish a running storage metrics count to metrics without first maintaining that count. Enable `maintain_stored_certificate_counts` to enable `publish_stored_certificate_count_metrics`.',
    );
  }
  return next;
}

/** What an automatic tidying does. */
export function requestOfAuto(stored: StoredAuto): TidyRequest {
  const auto = describeAutoTidy(stored);
  const chosen = Object.fromEntries(
    [...TIDY_FLAGS, ...BUFFERS].map((name) => [name, auto[name]]),
  ) as Record<TidyFlag, boolean> & Record<Buffer, number>;
  return {
    ...chosen,
    pause_duration: auto.pause_duration,
    page_size: auto.page_size,
    dry_run: false,
  };
}

/**
 * Before which moment something has to have ended to be tidied, in Unix seconds: never one that has not passed yet,
 * whatever the buffer.
 *
 * @param buffer seconds
 */
export function cutoffOf(now: number, buffer: number): number {
  const cutoff = Math.floor(now) - Math.max(1, buffer);
  return Number.isSafeInteger(cutoff) && cutoff > 0 ? cutoff : 0;
}
