import { z } from 'zod';
import { firstCluster } from '../../core/clusters.ts';
import { invalid } from '../../core/failure.ts';
import { choice, instant, integer, optional, text } from '../../core/fields.ts';
import { formatTimestamp } from '../../core/timestamps.ts';
import { nameText, serialText } from '../fields/field-kinds.ts';
import { referenceText } from '../fields/key-field-kinds.ts';
import type { CertificateQuery, FoundPage } from './search.store.ts';

const STATES = ['valid', 'expired', 'revoked'] as const;

export const searchSchema = z.object({
  name: optional(nameText()).describe(
    'A common name or alternative name, in any case; "*.example.com" is everything beneath it.',
  ),
  serial_number: optional(serialText()).describe(
    'A serial number; other conditions are then ignored.',
  ),
  issuer_ref: optional(referenceText()).describe('Id or name of the issuer, or "default".'),
  role: optional(text()).describe('Name of the role.'),
  state: optional(choice(STATES)).describe(
    'valid: neither expired nor revoked. expired: past its end, revoked or not.',
  ),
  expires_after: optional(instant()).describe('Ends then or later: RFC 3339 or Unix seconds.'),
  expires_before: optional(instant()).describe('Ends before then: RFC 3339 or Unix seconds.'),
  after: optional(text()).describe('The "next" of the page before.'),
  limit: integer(100).describe('Certificates in a page, at most 1000.'),
});
export type CertificateSearch = z.output<typeof searchSchema>;

export const foundSchema = z.object({
  keys: z.array(z.string()).describe('Serial numbers, those that end first coming first.'),
  key_info: z.record(
    z.string(),
    z.object({
      common_name: z.string(),
      issuer_id: z.string(),
      role: z.string().describe('Empty: it was not made by a role.'),
      not_before: z.string().describe('RFC 3339.'),
      not_after: z.string().describe('RFC 3339.'),
      state: z.enum(STATES),
      revocation_time: z.int().describe('Unix seconds; 0: not revoked.'),
      cluster: z.string().describe('Name of the cluster that issued it.'),
    }),
  ),
  next: z
    .string()
    .describe(
      'For "after" of the next page; empty: this was the last. A page may have fewer keys than asked for, ' +
        'or none, and be not the last: where few match, a request looks at some thousands only.',
    ),
});
type Found = z.output<typeof foundSchema>;

/** By what a page is told. */
interface Telling {
  /** Unix seconds. */
  now: number;
  /** What clusters are called. */
  nameOf(cluster: string): string;
}

export function describeFound({ found, next }: FoundPage, telling: Telling): Found {
  const key_info: Found['key_info'] = {};
  for (const certificate of found)
    key_info[certificate.serial] = describeInfo(certificate, telling);
  return {
    keys: found.map(({ serial }) => serial),
    key_info,
    next: next ? `${next.not_after}/${next.serial}` : '',
  };
}

function describeInfo(
  certificate: FoundPage['found'][number],
  { now, nameOf }: Telling,
): Found['key_info'][string] {
  const { revoked_at_ms, not_after } = certificate;
  return {
    common_name: certificate.subject_cn,
    issuer_id: certificate.issuer_id,
    role: certificate.role,
    not_before: formatTimestamp(certificate.not_before),
    not_after: formatTimestamp(not_after),
    state: revoked_at_ms !== null ? 'revoked' : not_after < now ? 'expired' : 'valid',
    revocation_time: Math.floor((revoked_at_ms ?? 0) / 1000),
    cluster: nameOf(firstCluster(certificate.clusters)),
  };
}

/** Where a page goes on, by the "next" of the one before. @throws Failure `invalid` */
export function parseCursor(text: string | undefined): CertificateQuery['after'] {
  if (text === undefined || text === '') return undefined;
  const [, end, serial] = /^(\d{1,15})\/([0-9a-f:]+)$/.exec(text) ?? [];
  if (end === undefined || serial === undefined) {
    throw invalid('after is not the "next" of an earlier answer');
  }
  return { not_after: Number(end), serial };
}
