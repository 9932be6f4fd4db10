import type { z } from 'zod';
import { invalid } from '../../core/failure.ts';
import { optional, text } from '../../core/fields.ts';
import type { TbsCertificate } from '../../x509/certificate.ts';
import type { KeyDescription } from '../../x509/keys.ts';
import {
  keySize,
  managedKeyFields,
  newNameText,
  referenceText,
} from '../fields/key-field-kinds.ts';
import { splitNames } from '../fields/split-names.ts';
import {
  type AuthorityUrls,
  type ClusterPaths,
  expandUrls,
  hasUrls,
  NO_URLS,
  namesIssuer,
  type UrlSettings,
} from '../mount-state/urls.ts';
import {
  CA_KEY_USAGES,
  caIssueFields,
  caSubjectFields,
  parseCaNames,
  parsePathLength,
  planCaSubject,
} from './ca-request.ts';
import { planCertificate } from './plan.ts';
import { NO_ROLE, planValidity } from './validity.ts';

/** The body of `root/generate/:exported`; key_type and key_bits stay unresolved. */
export const rootFields = {
  ...caSubjectFields,
  issuer_name: optional(newNameText()).describe('A name for the issuer, unique in the mount.'),
  key_name: optional(newNameText()).describe('A name for the key, unique in the mount.'),
  key_ref: referenceText('default').describe('With "existing": the key to be used, by id or name.'),
  key_type: optional(text()).describe('rsa (default), ec or ed25519.'),
  key_bits: optional(keySize()).describe('Size of the key; 0: 2048 for RSA, 256 for EC.'),
  ...managedKeyFields,
  ...caIssueFields,
};
export type RootRequest = z.output<z.ZodObject<typeof rootFields>>;

export interface PlannedRoot {
  tbs: TbsCertificate;
  warnings: string[];
}

/** What the certificate of a root depends on. */
export interface WantedRoot {
  request: RootRequest;
  /** Unix seconds. */
  now: number;
  serialNumber: Uint8Array;
  key: KeyDescription & { public_key: Uint8Array };
  mount: { default_ttl: number; max_ttl: number };
  urls: UrlSettings;
  cluster: ClusterPaths;
}

/**
 * Lays out a certificate that signs itself.
 *
 * @throws Failure `invalid` for names or an end that cannot be certified
 * @see RFC 5280 §4.1, §4.2
 */
export function planRoot(wanted: WantedRoot): PlannedRoot {
  const { request, key, serialNumber } = wanted;
  const { subject, warnings } = planCaSubject(request);
  const alt_names = splitNames(request.alt_names);
  requireFewNames({ ...request, alt_names });
  const validity = planValidity({
    now: wanted.now,
    ttl: request.ttl,
    not_after: request.not_after,
    role: { ...NO_ROLE, not_before_duration: request.not_before_duration },
    mount: wanted.mount,
  });
  const { urls, warnings: urlWarnings } = planRootUrls(wanted.urls, wanted.cluster);
  const pathLength = parsePathLength(request);
  if (pathLength === 0) {
    warnings.push(
      'Max path length of the generated certificate is zero. This certificate cannot be used to issue intermediate CA certificates.',
    );
  }
  const tbs = planCertificate(
    {
      subject,
      names: parseCaNames(request, alt_names),
      notBefore: validity.notBefore,
      notAfter: validity.notAfter,
      key_usage: [...CA_KEY_USAGES, ...request.key_usage],
      ext_key_usage: [],
      basic_constraints: pathLength === undefined ? { ca: true } : { ca: true, pathLength },
      urls,
      name_constraints: request,
      extra_extensions: [],
      signature_bits: request.signature_bits,
      use_pss: request.use_pss,
    },
    {
      subjectPublicKeyInfo: key.public_key,
      key: { key_type: key.key_type, key_bits: key.key_bits },
      serialNumber,
    },
  );
  return { tbs, warnings: [...validity.warnings, ...urlWarnings, ...warnings] };
}

/** Nobody reaches a CA by its names; its certificate goes with all that it signs. */
const MOST_NAMES = 100;

const NAME_FIELDS = ['alt_names', 'ip_sans', 'uri_sans', 'other_sans'] as const;

/** @throws Failure `invalid` naming the fields that have too many */
function requireFewNames(names: Record<(typeof NAME_FIELDS)[number], readonly string[]>): void {
  const counts = NAME_FIELDS.map((field) => ({ field, count: names[field].length }));
  const count = counts.reduce((sum, one) => sum + one.count, 0);
  if (count <= MOST_NAMES) return;
  const sent = counts.filter((one) => one.count > 0).map(({ field }) => field);
  throw invalid(
    `${sent.join(', ')}: ${count} names of a root, at most ${MOST_NAMES} are accepted`,
    {
      fields: Object.fromEntries(
        sent.map((field) => [field, `at most ${MOST_NAMES} names together`]),
      ),
    },
  );
}

/** @see P-83, P-84 */
function planRootUrls(
  settings: UrlSettings,
  cluster: ClusterPaths,
): { urls: AuthorityUrls; warnings: string[] } {
  if (!hasUrls(settings)) {
    return {
      urls: NO_URLS,
      warnings: [
        "This mount hasn't configured any authority information access (AIA) fields; this may make it harder for systems to find missing certificates in the chain or to validate revocation status of certificates. Consider updating /config/urls or the newly generated issuer with this information.",
      ],
    };
  }
  if (!settings.enable_templating) return { urls: settings, warnings: [] };
  if (namesIssuer(settings)) {
    return {
      urls: NO_URLS,
      warnings: [
        'the URLs of config/urls name {{issuer_id}}, which a root cannot know of itself: they were left out of its certificate',
      ],
    };
  }
  return { urls: expandUrls(settings, { issuer_id: '', cluster }), warnings: [] };
}
