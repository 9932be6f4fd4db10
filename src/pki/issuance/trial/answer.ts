import { z } from 'zod';
import { formatTimestamp } from '../../../core/timestamps.ts';
import type { TbsCertificate } from '../../../x509/certificate.ts';
import type { KeyDescription } from '../../../x509/keys.ts';
import { nameText, parseName } from '../../../x509/names.ts';
import { EXT_KEY_USAGE_OID } from '../../../x509/oids.ts';
import type { LeafPlan } from '../../profile/leaf.ts';
import type { StorageRules } from '../signing.operations.ts';

/** Names of each kind that are told of. */
const MOST_NAMES = 100;

const plannedSchema = z.object({
  subject: z.string().describe('Distinguished name.'),
  common_name: z.string(),
  dns_names: z.array(z.string()).describe(`The first ${MOST_NAMES}, as of each kind.`),
  email_addresses: z.array(z.string()),
  ip_addresses: z.array(z.string()),
  uris: z.array(z.string()),
  other_names: z.array(z.string()),
  not_before: z.string().describe('RFC 3339.'),
  not_after: z.string().describe('RFC 3339.'),
  issuer_id: z.string().describe('Id of the issuer that would sign.'),
  issuer: z.string().describe('Its distinguished name.'),
  key_type: z.string(),
  key_bits: z.int(),
  key_usage: z.array(z.string()),
  ext_key_usage: z.array(z.string()).describe('By name, or object identifiers.'),
  extensions: z.array(z.string()).describe('Object identifiers of all its extensions.'),
  stored: z.boolean().describe('It would be kept.'),
  leased: z.boolean().describe('It would have a lease.'),
});

export const trialSchema = z.object({
  allowed: z.boolean().describe('A certificate would be issued.'),
  decided_by: z.string().describe('The role, below the mount.'),
  because: z.string().optional().describe('Why none would be issued.'),
  names: z
    .array(
      z.object({
        kind: z.string(),
        name: z.string(),
        rule: z.string().optional().describe('Field of the role; left out where none lets it in.'),
      }),
    )
    .describe(`By which rule of an ordinary role each of the first ${MOST_NAMES} names is let in.`),
  certificate: plannedSchema.optional().describe('What the certificate would have.'),
});
export type TrialAnswer = z.output<typeof trialSchema>;

/** What has been planned, with nothing of it signed. */
export interface Trial {
  plan: LeafPlan;
  key: KeyDescription;
  tbs: TbsCertificate;
  issuer_id: string;
  storage: StorageRules;
}

const USAGE_NAMES = new Map<string, string>(
  Object.entries(EXT_KEY_USAGE_OID).map(([name, oid]) => [oid, name]),
);

export function describeTrial(
  decided_by: string,
  names: TrialAnswer['names'],
  { plan, key, tbs, issuer_id, storage }: Trial,
): TrialAnswer {
  const some = (list: readonly string[]): string[] => list.slice(0, MOST_NAMES);
  const { certificate, names: planned } = plan;
  return {
    allowed: true,
    decided_by,
    names,
    certificate: {
      subject: nameText(parseName(tbs.subject)),
      common_name: planned.common_name,
      dns_names: some(planned.dns),
      email_addresses: some(planned.email),
      ip_addresses: some(planned.ip),
      uris: some(planned.uri),
      other_names: some(planned.other.map(({ oid, value }) => `${oid};UTF8:${value}`)),
      not_before: formatTimestamp(tbs.notBefore),
      not_after: formatTimestamp(tbs.notAfter),
      issuer_id,
      issuer: nameText(parseName(tbs.issuer)),
      key_type: key.key_type,
      key_bits: key.key_bits,
      key_usage: [...certificate.key_usage],
      ext_key_usage: certificate.ext_key_usage.map((oid) => USAGE_NAMES.get(oid) ?? oid),
      extensions: tbs.extensions.map(({ oid }) => oid),
      stored: !storage.no_store,
      leased: storage.generate_lease && !storage.no_store,
    },
  };
}
