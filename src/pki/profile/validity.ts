import { formatDuration } from '../../core/durations.ts';
import { invalid } from '../../core/failure.ts';
import { formatTimestamp, parseTimestamp } from '../../core/timestamps.ts';
import { DEFAULT_BACKDATING } from '../fields/field-kinds.ts';
import type { NotAfterBehavior } from '../mount-state/issuer.ts';

export interface ValidityRequest {
  /** Unix seconds. */
  now: number;
  /** Of the request; ttl in seconds, 0: none named; not_after RFC 3339, empty: none. */
  ttl: number;
  not_after: string;
  /** RFC 3339; empty or absent: none. */
  not_before?: string | undefined;
  /** Of the role, or as a request without role has them. */
  role: {
    ttl: number;
    max_ttl: number;
    not_after: string;
    /** As the role's fields are described. */
    not_after_bound: string;
    not_before_duration: number;
    not_before?: string;
    not_before_bound?: string;
  };
  /** Effective lease times of the mount, in seconds. */
  mount: { default_ttl: number; max_ttl: number };
  /** Absent for a certificate that signs itself. */
  issuer?: { not_after: number; behavior: NotAfterBehavior };
  /** Unix seconds, in time for no warning: what the certificate is for ends then. */
  latest?: number | undefined;
}

/** What counts where no role says anything. */
export const NO_ROLE: ValidityRequest['role'] = {
  ttl: 0,
  max_ttl: 0,
  not_after: '',
  not_after_bound: 'permit',
  not_before_duration: 0,
  not_before: '',
  not_before_bound: 'permit',
};

interface Validity {
  /** Unix seconds, both. */
  notBefore: number;
  notAfter: number;
  /** The end asked for, when the issuer's came first. */
  truncated_from?: number;
  warnings: string[];
}

/** 9999-12-31T23:59:59Z, the last moment a certificate can name (RFC 5280 §4.1.2.5). */
const LAST_TIME = 253_402_300_799;

/**
 * Works out from when until when a certificate is valid: what the request asks for, or the role's, or the
 * mount's, within the caps of role and mount, and then within the issuer's own end as its
 * `leaf_not_after_behavior` has it.
 *
 * @throws Failure `invalid` when the request contradicts itself or the issuer's end forbids it
 */
export function planValidity(wanted: ValidityRequest): Validity {
  const { now, role } = wanted;
  const warnings: string[] = [];
  const notBefore = planBeginning(wanted, warnings);
  refuseForbiddenEnd(wanted);
  const fixed = role.not_after || wanted.not_after;
  if (fixed !== '' && wanted.ttl > 0) {
    throw invalid(
      'Either ttl or not_after should be provided. Both should not be provided in the same request.',
      { fields: { ttl: 'not together with not_after' } },
    );
  }
  if (role.not_after !== '' && wanted.not_after !== '') {
    warnings.push('the not_after field was provided but the role has a not_after of its own');
  }
  const planned = fixed === '' ? now + planTtl(wanted, warnings) : planEnd(fixed, wanted, warnings);
  const asked = Math.min(planned, wanted.latest ?? planned);
  const bounded = boundByIssuer(asked, wanted, warnings);
  const notAfter = Math.min(bounded, LAST_TIME);
  if (bounded > LAST_TIME) {
    warnings.push(
      `the certificate ends at ${formatTimestamp(LAST_TIME)}, the last time it can name`,
    );
  }
  refuseLateEnd(notAfter, role.not_after_bound);
  warnings.push(...warnOfPast(notAfter, wanted));
  if (notBefore > notAfter) {
    throw invalid(
      `the certificate's Not Before ${formatTimestamp(notBefore)} is later than the certificate's Not After ${formatTimestamp(notAfter)}`,
      { fields: { not_after: 'a time in the future' } },
    );
  }
  return {
    notBefore,
    notAfter,
    ...(bounded < asked && { truncated_from: asked }),
    warnings,
  };
}

/**
 * The beginning: the role's own, else the request's within the role's bound, else backdated.
 *
 * @see P-71, P-258
 */
function planBeginning(wanted: ValidityRequest, warnings: string[]): number {
  const { now, role, not_before = '' } = wanted;
  const backdated = now - (role.not_before_duration || DEFAULT_BACKDATING);
  const { not_before: own = '' } = role;
  if (own !== '') {
    if (not_before !== '') {
      warnings.push('the not_before field was provided but the role has a not_before of its own');
    }
    return parseTime('not_before', own);
  }
  if (not_before === '') {
    if (backdated < 0) throw invalid('not_before_duration reaches back beyond 1970');
    return backdated;
  }
  const { not_before_bound: bound = 'permit' } = role;
  if (bound === 'forbid') {
    throw invalid(
      'not_before_bound is set to forbid: not_before cannot be provided under this role',
      { fields: { not_before: 'nothing' } },
    );
  }
  const beginning = parseTime('not_before', not_before);
  const earliest = bound === 'duration' ? backdated : (parseTimestamp(bound) ?? 0);
  if (beginning < earliest) {
    const because =
      bound === 'permit'
        ? 'not_before reaches back beyond 1970'
        : `not_before_bound is set to ${bound}: not_before of ${formatTimestamp(beginning)} is before ${formatTimestamp(earliest)}`;
    throw invalid(because, {
      fields: { not_before: `a time not before ${formatTimestamp(earliest)}` },
    });
  }
  return beginning;
}

function refuseForbiddenEnd({ not_after, role }: ValidityRequest): void {
  if (not_after === '' || role.not_after_bound !== 'forbid') return;
  throw invalid('not_after_bound is set to forbid: not_after cannot be provided under this role', {
    fields: { not_after: 'nothing; ttl instead' },
  });
}

/**
 * An end that was named instead of a TTL. The maximum TTL does not bound it, as clients of this API
 * are used to, so that it is told whenever it is passed.
 *
 * @see P-73, P-74
 */
function planEnd(fixed: string, wanted: ValidityRequest, warnings: string[]): number {
  const { now, role, mount } = wanted;
  const end = parseTime('not_after', fixed);
  const shown = formatTimestamp(Math.min(end, LAST_TIME));
  if (role.not_after === '' && role.not_after_bound === 'ttl-limited') {
    const ttl = planTtl({ ...wanted, ttl: 0 }, []);
    if (end > now + ttl) {
      throw invalid(
        `not_after_bound is set to ttl-limited: notAfter of ${shown} is beyond the TTL of ${formatDuration(ttl)}`,
        { fields: { not_after: `an end not after ${formatTimestamp(now + ttl)}` } },
      );
    }
  }
  const max = role.max_ttl || mount.max_ttl;
  if (end > now + max) {
    const advice = role.not_after === '' ? '; not_after_bound of the role can refuse that' : '';
    warnings.push(
      `not_after "${shown}" is longer than permitted maxTTL "${formatDuration(max)}", which does not apply to it${advice}`,
    );
  }
  return end;
}

/** Where the bound is a timestamp, no certificate ends after it, whatever was asked for. */
function refuseLateEnd(notAfter: number, bound: string): void {
  const last = parseTimestamp(bound);
  if (last === undefined || notAfter <= last) return;
  throw invalid(
    `not_after_bound is set to ${bound}: notAfter of ${formatTimestamp(notAfter)} is beyond it`,
    { fields: { not_after: `an end not after ${formatTimestamp(last)}` } },
  );
}

/** What is over by now is no mistake where somebody keeps records of it, and of no use otherwise. @see P-471 */
function warnOfPast(notAfter: number, { now, issuer }: ValidityRequest): string[] {
  const warnings: string[] = [];
  if (notAfter < now) {
    warnings.push(
      `the certificate's end ${formatTimestamp(notAfter)} is in the past: no verifier accepts it`,
    );
  }
  if (issuer && issuer.not_after < now) {
    warnings.push(
      `the CA certificate ended at ${formatTimestamp(issuer.not_after)}, in the past: verifiers accept nothing that it signs`,
    );
  }
  return warnings;
}

/** @returns seconds @see P-72 */
function planTtl({ ttl, role, mount }: ValidityRequest, warnings: string[]): number {
  const wanted = ttl || role.ttl || mount.default_ttl;
  const max = role.max_ttl || mount.max_ttl;
  if (wanted <= max) return wanted;
  // Of the mount's default nobody has asked for anything.
  if (ttl === 0 && role.ttl === 0) return max;
  warnings.push(
    `TTL "${formatDuration(wanted)}" is longer than permitted maxTTL "${formatDuration(max)}", so maxTTL is being used`,
  );
  return max;
}

function parseTime(field: 'not_before' | 'not_after', text: string): number {
  const time = parseTimestamp(text);
  if (time !== undefined) return time;
  throw invalid(
    `${field} ${JSON.stringify(text.slice(0, 64))} is not a timestamp such as "2030-01-31T12:00:00Z"`,
    { fields: { [field]: 'an RFC 3339 timestamp' } },
  );
}

/** @see P-75, P-471 */
function boundByIssuer(asked: number, wanted: ValidityRequest, warnings: string[]): number {
  const { issuer, now } = wanted;
  if (issuer?.behavior === 'truncate' && asked < now) {
    throw invalid(
      `cannot satisfy request, as the requested end ${formatTimestamp(asked)} is in the past`,
      { fields: { not_after: 'a time in the future' } },
    );
  }
  if (!issuer || asked <= issuer.not_after) return asked;
  switch (issuer.behavior) {
    case 'permit':
      warnings.push(
        `the certificate ends after its CA, whose end is at ${formatTimestamp(issuer.not_after)}: verifiers refuse it from then on`,
      );
      return asked;
    case 'truncate':
      if (issuer.not_after <= now) {
        throw invalid(
          `cannot satisfy request, as the expiration of the CA certificate at ${formatTimestamp(issuer.not_after)} is in the past`,
        );
      }
      warnings.push(
        `the requested end ${formatTimestamp(Math.min(asked, LAST_TIME))} is after the CA's expiration time, so the certificate ends with it at ${formatTimestamp(issuer.not_after)}`,
      );
      return issuer.not_after;
    case 'err':
    case 'always_enforce_err':
      throw invalid(
        `cannot satisfy request, as TTL would result in notAfter of ${formatTimestamp(asked)} that is beyond the expiration of the CA certificate at ${formatTimestamp(issuer.not_after)}${adviseTtl(wanted)}`,
        { fields: { ttl: `an end not after ${formatTimestamp(issuer.not_after)}` } },
      );
  }
}

/** Whoever named no end at all got the mount's default, and may not know of it. */
function adviseTtl({ ttl, not_after, role, mount }: ValidityRequest): string {
  if (ttl > 0 || not_after !== '' || role.ttl > 0 || role.not_after !== '') return '';
  return `, as the mount's default of ${formatDuration(mount.default_ttl)} has it: set ttl on the role or in the request`;
}

/**
 * The behaviour of an issuer on the paths where it is truncation unless the request says
 * otherwise: signing intermediates, signing verbatim, ACME. An issuer that always enforces its
 * end does so there too.
 *
 * @param enforce the request's `enforce_leaf_not_after_behavior`
 */
export function chooseBehavior(configured: NotAfterBehavior, enforce: boolean): NotAfterBehavior {
  return enforce || configured === 'always_enforce_err' ? configured : 'truncate';
}
