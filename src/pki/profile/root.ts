import type { z } from 'zod';
import { optional } from '../../core/fields.ts';
import type { TbsCertificate } from '../../x509/certificate.ts';
import { type KeyDescription, kindOf } from '../../x509/keys.ts';
import { newNameText } from '../fields/key-field-kinds.ts';
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
  caIssueFields,
  caKeyFields,
  caSubjectFields,
  parseCaNames,
  parsePathLength,
  planCaSubject,
  planCaUsages,
} from './ca-request.ts';
import { planCertificate } from './plan.ts';
import { NO_ROLE, planValidity } from './validity.ts';

/** The body of `root/generate/:exported`; key_type and key_bits stay unresolved. */
export const rootFields = {
  ...caSubjectFields,
  issuer_name: optional(newNameText()).describe('A name for the issuer, unique in the mount.'),
  ...caKeyFields,
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
  const names = parseCaNames(request, 'a root');
  const usages = planCaUsages(request, key.key_type);
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
      names,
      notBefore: validity.notBefore,
      notAfter: validity.notAfter,
      key_usage: usages.key_usage,
      ext_key_usage: usages.ext_key_usage,
      basic_constraints: pathLength === undefined ? { ca: true } : { ca: true, pathLength },
      urls,
      name_constraints: request,
      extra_extensions: [],
      signature_bits: request.signature_bits,
      use_pss: request.use_pss,
    },
    {
      subjectPublicKeyInfo: key.public_key,
      key: kindOf(key),
      serialNumber,
    },
  );
  return { tbs, warnings: [...validity.warnings, ...urlWarnings, ...warnings, ...usages.warnings] };
}

/** @see P-83 */
export const NO_URLS_WARNING =
  "This mount hasn't configured any authority information access (AIA) fields; this may make it harder for systems to find missing certificates in the chain or to validate revocation status of certificates. Consider updating /config/urls or the newly generated issuer with this information.";

/** @see P-83, P-84 */
function planRootUrls(
  settings: UrlSettings,
  cluster: ClusterPaths,
): { urls: AuthorityUrls; warnings: string[] } {
  if (!hasUrls(settings)) {
    return { urls: NO_URLS, warnings: [NO_URLS_WARNING] };
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
