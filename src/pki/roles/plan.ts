import { requireCidrs } from '../../config/cidrs.ts';
import { type Failure, invalid } from '../../core/failure.ts';
import { mergePatch } from '../../core/patches.ts';
import { parseTimestamp } from '../../core/timestamps.ts';
import { isOid } from '../../x509/der.ts';
import { isFreeOid } from '../fields/free-extension.ts';
import { resolveKeyParameters } from '../fields/key-parameters.ts';
import { parseOtherSan } from '../fields/other-san.ts';
import { fitKeyUsages, warnOfUnknownUsages } from '../fields/usages.ts';
import { encodePolicyIdentifiers } from './policy-identifiers.ts';
import type { Role, RolePatch } from './role.ts';

export interface PlannedRole {
  role: Role;
  warnings: string[];
}

/**
 * Judges a role as written and fills in what follows from other fields.
 *
 * @throws Failure `invalid` for fields that do not go together
 * @see P-13, P-14, P-17
 */
export function planRole(input: Role): PlannedRole {
  if (input.max_ttl !== 0 && input.ttl > input.max_ttl) {
    throw invalid('"ttl" value must be less than "max_ttl" value', {
      fields: { ttl: `at most max_ttl, ${input.max_ttl} seconds` },
    });
  }
  const warnings: string[] = [];
  const mutuallyExclusive = input.no_store && input.generate_lease;
  if (mutuallyExclusive) {
    warnings.push(
      'mutually exclusive values no_store=true and generate_lease=true were both specified; no_store=true takes priority',
    );
  }
  warnings.push(...warnOfUnknownUsages(input));
  if (input.key_type !== 'any') {
    warnings.push(...fitKeyUsages(input.key_type, input.key_usage).warnings);
  }
  if (input.not_after !== '' && input.max_ttl !== 0) {
    warnings.push(
      'max_ttl does not apply to the not_after of the role, which ends every certificate',
    );
  }
  for (const rule of input.allowed_other_sans) checkOtherSanRule(rule, input.allowed_other_sans);
  checkAddressBlocks(input.allowed_ip_sans_cidr);
  checkUsageOids(input.ext_key_usage_oids);
  checkExtensionOids(input.allowed_extensions);
  // What cannot be written is found when the role is, not when a certificate is.
  encodePolicyIdentifiers(input.policy_identifiers);

  const role: Role = {
    ...input,
    ...resolveKeyParameters(input),
    issuer_ref: input.issuer_ref === '' ? 'default' : input.issuer_ref,
    cn_validations: checkCnValidations(input.cn_validations),
    not_before_bound: checkTimeBound('not_before_bound', input.not_before_bound),
    not_after_bound: checkTimeBound('not_after_bound', input.not_after_bound),
    generate_lease: input.generate_lease && !mutuallyExclusive,
  };
  return { role, warnings };
}

/**
 * Applies a partial update and judges the whole as if it had been written at once: a change
 * of `key_type` alone is refused when the stored `key_bits` do not suit the new type.
 *
 * @throws Failure `invalid`
 * @see P-20, P-21
 */
export function patchRole(existing: Role, patch: RolePatch): PlannedRole {
  return planRole(mergePatch(existing, patch));
}

/** They are read once for as long as a role is kept, and anew with each request that is planned on a thread. */
const MOST_BLOCKS = 1_000;

function checkAddressBlocks(cidrs: readonly string[]): void {
  if (cidrs.length > MOST_BLOCKS) {
    throw invalid(`allowed_ip_sans_cidr: at most ${MOST_BLOCKS} address blocks`);
  }
  requireCidrs('allowed_ip_sans_cidr', cidrs);
}

/** What bounds go by but timestamps. */
const BOUND_WORDS = {
  not_before_bound: ['permit', 'duration', 'forbid'],
  not_after_bound: ['permit', 'ttl-limited', 'forbid'],
} as const;

function checkTimeBound(field: keyof typeof BOUND_WORDS, bound: string): string {
  if (bound === '') return 'permit';
  const words: readonly string[] = BOUND_WORDS[field];
  if (words.includes(bound) || parseTimestamp(bound) !== undefined) return bound;
  const listed = words.map((word) => `"${word}"`).join(', ');
  const accepted = `${listed}, or a timestamp such as "2030-01-31T12:00:00Z"`;
  throw invalid(`${field} ${JSON.stringify(bound.slice(0, 64))} is none of ${accepted}`, {
    fields: { [field]: accepted },
  });
}

/** @see P-15 */
function checkCnValidations(values: readonly string[]): string[] {
  if (values.length === 0) return ['email', 'hostname'];
  const kinds = values.map((value) => value.toLowerCase());
  for (const [position, kind] of kinds.entries()) {
    if (kind !== 'email' && kind !== 'hostname' && kind !== 'disabled') {
      throw refuseCnValidations(`unknown type: ${kind.slice(0, 64)}`);
    }
    if (kinds.indexOf(kind) !== position) {
      throw refuseCnValidations(`${kind} specified multiple times`);
    }
  }
  if (kinds.length > 1 && kinds.includes('disabled')) {
    throw refuseCnValidations('cannot specify disabled along with email or hostname');
  }
  return kinds;
}

function refuseCnValidations(because: string): Failure {
  return invalid(`cn_validations value incorrect: ${because}`, {
    fields: { cn_validations: '"email", "hostname", both, or "disabled" alone' },
  });
}

function checkOtherSanRule(rule: string, all: readonly string[]): void {
  if (rule === '*' && all.length === 1) return;
  const parsed = parseOtherSan(rule);
  if (!('because' in parsed)) return;
  throw invalid(`error parsing allowed_other_sans: ${parsed.because}`, {
    fields: { allowed_other_sans: '"<oid>;UTF8:<value>", or "*" alone' },
  });
}

function checkExtensionOids(oids: readonly string[]): void {
  const other = oids.find((one) => !isFreeOid(one));
  if (other === undefined) return;
  throw invalid(
    `allowed_extensions: ${JSON.stringify(other.slice(0, 64))} is no object identifier, or of an extension that has fields of its own`,
    { fields: { allowed_extensions: 'object identifiers such as "1.3.6.1.4.1.99999.1"' } },
  );
}

/** More than any certificate names. */
const MAX_USAGES = 1000;

function checkUsageOids(oids: readonly string[]): void {
  if (oids.length > MAX_USAGES) {
    throw invalid(`${oids.length} extended key usages, at most ${MAX_USAGES}`, {
      fields: { ext_key_usage_oids: `at most ${MAX_USAGES} object identifiers` },
    });
  }
  const oid = oids.find((one) => !isOid(one));
  if (oid === undefined) return;
  throw invalid(
    `"${oid.slice(0, 64)}" could not be parsed as a valid oid for an extended key usage`,
    { fields: { ext_key_usage_oids: 'object identifiers such as "1.3.6.1.5.5.7.3.1"' } },
  );
}
