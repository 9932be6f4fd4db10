import { z } from 'zod';
import { Failure } from '../../core/failure.ts';
import { duration, flag, integer, list, optional, text } from '../../core/fields.ts';
import { chooseSignatureAlgorithm } from '../../x509/algorithms.ts';
import type { TbsCertificate } from '../../x509/certificate.ts';
import {
  authorityInfoAccess,
  authorityKeyIdentifier,
  basicConstraints,
  crlDistributionPoints,
  type Extension,
  freshestCrl,
  keyUsage,
  subjectAltName,
  subjectKeyIdentifier,
} from '../../x509/extensions.ts';
import { hasNoNames, type SubjectAltNames } from '../../x509/general-names.ts';
import { type KeyDescription, keyIdentifier } from '../../x509/keys.ts';
import { nameConstraints } from '../../x509/name-constraints.ts';
import { encodeSubject, isEmptyName } from '../../x509/names.ts';
import {
  type AuthorityUrls,
  type ClusterPaths,
  expandUrls,
  hasUrls,
  namesIssuer,
  type UrlSettings,
} from '../authority/urls.ts';
import { endFields, nameFields, outputFields } from '../certificates/request.ts';
import { planValidity } from '../certificates/validity.ts';
import { toAsciiDnsName } from '../roles/host-name.ts';
import { parseOtherSan } from '../roles/other-san.ts';

const subjectList = (what: string) => list([]).describe(`${what} values of the subject.`);

/** The body of `root/generate/:exported` (contract 2.4.1); key_type and key_bits stay unresolved. */
export const rootFields = {
  ...outputFields,
  ...nameFields,
  ...endFields,
  not_before_duration: duration(30).describe('Seconds by which notBefore lies in the past.'),
  ou: subjectList('OU'),
  organization: subjectList('O'),
  country: subjectList('C'),
  locality: subjectList('L'),
  province: subjectList('ST'),
  street_address: subjectList('Street address'),
  postal_code: subjectList('Postal code'),
  issuer_name: optional(text()).describe('A name for the issuer, unique in the mount.'),
  key_name: optional(text()).describe('A name for the key, unique in the mount.'),
  key_ref: text('default').describe('With "existing": the key to be used, by id or name.'),
  key_type: optional(text()).describe('rsa (default), ec or ed25519.'),
  key_bits: optional(integer()).describe('Size of the key; 0: 2048 for RSA, 256 for EC.'),
  signature_bits: integer(0).describe('SHA-2 size of the signature of an RSA key; 0: 256.'),
  use_pss: flag(false).describe('Sign with RSASSA-PSS, where the key is an RSA key.'),
  max_path_length: integer(-1).describe('How many CAs may follow in a chain; -1: any number.'),
  key_usage: list([]).describe('DigitalSignature may be added to CertSign and CRLSign.'),
  permitted_dns_domains: list([]).describe('Domains that certificates beneath may name.'),
  excluded_dns_domains: list([]).describe('Domains that certificates beneath may not name.'),
  permitted_ip_ranges: list([]).describe('IP ranges, in CIDR form, that they may name.'),
  excluded_ip_ranges: list([]).describe('IP ranges, in CIDR form, that they may not name.'),
  permitted_email_addresses: list([]).describe('E-mail addresses or hosts they may name.'),
  excluded_email_addresses: list([]).describe('E-mail addresses or hosts they may not name.'),
  permitted_uri_domains: list([]).describe('Hosts of URIs they may name.'),
  excluded_uri_domains: list([]).describe('Hosts of URIs they may not name.'),
};
const rootSchema = z.object(rootFields);
export type RootRequest = z.output<typeof rootSchema>;

export interface PlannedRoot {
  tbs: TbsCertificate;
  warnings: string[];
}

/**
 * Lays out a certificate that signs itself.
 *
 * @throws Failure `invalid` for names or an end that cannot be certified
 * @see RFC 5280 §4.1, §4.2
 */
export function planRoot(wanted: {
  request: RootRequest;
  /** Unix seconds. */
  now: number;
  serialNumber: Uint8Array;
  key: KeyDescription & { public_key: Uint8Array };
  mount: { default_ttl: number; max_ttl: number };
  urls: UrlSettings;
  cluster: ClusterPaths;
}): PlannedRoot {
  const { request, key } = wanted;
  const subject = encodeSubject(request);
  if (isEmptyName(subject)) {
    throw new Failure('invalid', 'common_name is required, or other parts of the subject are', {
      fields: { common_name: 'a name for the authority' },
    });
  }
  const validity = planValidity({
    now: wanted.now,
    ttl: request.ttl,
    not_after: request.not_after,
    role: {
      ttl: 0,
      max_ttl: 0,
      not_after: '',
      not_before_duration: request.not_before_duration,
    },
    mount: wanted.mount,
  });
  const { urls, warnings } = planRootUrls(wanted.urls, wanted.cluster);
  warnings.unshift(...validity.warnings);
  if (request.common_name === '') {
    warnings.push('the subject has no common name: some clients show or match nothing else');
  }
  if (request.max_path_length === 0) {
    warnings.push(
      'Max path length of the generated certificate is zero. This certificate cannot be used to issue intermediate CA certificates.',
    );
  }
  const identifier = keyIdentifier(key.public_key);
  const names = parseRootNames(request);
  const usages = request.key_usage.some((name) => name.toLowerCase() === 'digitalsignature')
    ? ['CertSign', 'CRLSign', 'DigitalSignature']
    : ['CertSign', 'CRLSign'];
  const extensions: (Extension | undefined)[] = [
    keyUsage(usages),
    basicConstraints(
      request.max_path_length < 0
        ? { ca: true }
        : { ca: true, pathLength: request.max_path_length },
    ),
    subjectKeyIdentifier(identifier),
    authorityKeyIdentifier(identifier),
    authorityInfoAccess({ ocsp: urls.ocsp_servers, caIssuers: urls.issuing_certificates }),
    hasNoNames(names) ? undefined : subjectAltName(names, false),
    nameConstraints(request),
    crlDistributionPoints(urls.crl_distribution_points),
    freshestCrl(urls.delta_crl_distribution_points),
  ];
  const tbs: TbsCertificate = {
    serialNumber: wanted.serialNumber,
    signatureAlgorithm: chooseSignatureAlgorithm({
      key_type: key.key_type,
      key_bits: key.key_bits,
      signature_bits: request.signature_bits,
      use_pss: request.use_pss,
    }),
    issuer: subject,
    notBefore: validity.notBefore,
    notAfter: validity.notAfter,
    subject,
    subjectPublicKeyInfo: key.public_key,
    extensions: extensions.filter((extension) => extension !== undefined),
  };
  return { tbs, warnings };
}

const NO_URLS: AuthorityUrls = {
  issuing_certificates: [],
  crl_distribution_points: [],
  ocsp_servers: [],
  delta_crl_distribution_points: [],
};

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

// No role rules over the names of an authority; they only have to be encodable.
function parseRootNames(request: RootRequest): SubjectAltNames {
  const listed = request.alt_names.split(',').filter((name) => name !== '');
  const email = listed.filter((name) => name.includes('@'));
  const dns = listed.filter((name) => !name.includes('@')).map(requireDnsName);
  const { common_name } = request;
  if (!request.exclude_cn_from_sans) {
    const ascii = toAsciiDnsName(common_name);
    if (common_name.includes('@') && !/\s/.test(common_name)) email.unshift(common_name);
    else if (ascii !== undefined && common_name.includes('.')) dns.unshift(ascii);
  }
  const other = request.other_sans.map((written) => {
    const parsed = parseOtherSan(written);
    if ('because' in parsed) {
      throw new Failure('invalid', parsed.because, {
        fields: { other_sans: '"<oid>;UTF8:<value>"' },
      });
    }
    return parsed;
  });
  return {
    dns: [...new Set(dns)],
    email: [...new Set(email)].toSorted(),
    ip: request.ip_sans,
    uri: request.uri_sans,
    other,
  };
}

function requireDnsName(name: string): string {
  const ascii = toAsciiDnsName(name);
  if (ascii !== undefined) return ascii;
  throw new Failure('invalid', `subject alternate name ${name} is not a DNS name`, {
    fields: { alt_names: 'DNS names and e-mail addresses, with commas between them' },
  });
}
