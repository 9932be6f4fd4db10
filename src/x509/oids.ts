/** Object identifiers that X.509 needs by name, with where each is defined. */

/** Attribute types of names: X.520, RFC 4519, RFC 4519 §2.39 (UID). */
export const ATTRIBUTE_OID = {
  common_name: '2.5.4.3',
  serial_number: '2.5.4.5',
  country: '2.5.4.6',
  locality: '2.5.4.7',
  province: '2.5.4.8',
  street_address: '2.5.4.9',
  organization: '2.5.4.10',
  ou: '2.5.4.11',
  postal_code: '2.5.4.17',
  user_ids: '0.9.2342.19200300.100.1.1',
  domain_component: '0.9.2342.19200300.100.1.25',
} as const;

/** What certificates of old say about being an authority, which some still read: Netscape's certificate type. */
export const NETSCAPE_TYPE_OID = '2.16.840.1.113730.1.1';

/** Of subjects of old: RFC 5280 §4.1.2.6 has it among the alternative names. */
export const EMAIL_ADDRESS_OID = '1.2.840.113549.1.9.1';

/** Extensions of certificates, CRLs and entries: RFC 5280 §4.2, §5.2, §5.3. */
export const EXTENSION_OID = {
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  issuerAltName: '2.5.29.18',
  basicConstraints: '2.5.29.19',
  cRLNumber: '2.5.29.20',
  reasonCode: '2.5.29.21',
  invalidityDate: '2.5.29.24',
  deltaCRLIndicator: '2.5.29.27',
  issuingDistributionPoint: '2.5.29.28',
  nameConstraints: '2.5.29.30',
  cRLDistributionPoints: '2.5.29.31',
  certificatePolicies: '2.5.29.32',
  policyMappings: '2.5.29.33',
  authorityKeyIdentifier: '2.5.29.35',
  policyConstraints: '2.5.29.36',
  extKeyUsage: '2.5.29.37',
  freshestCRL: '2.5.29.46',
  inhibitAnyPolicy: '2.5.29.54',
  authorityInfoAccess: '1.3.6.1.5.5.7.1.1',
  subjectInfoAccess: '1.3.6.1.5.5.7.1.11',
  /** RFC 6960 §4.2.2.2.1. */
  ocspNoCheck: '1.3.6.1.5.5.7.48.1.5',
} as const;

/** Access methods of authorityInfoAccess, RFC 5280 §4.2.2.1. */
export const ACCESS_OID = { ocsp: '1.3.6.1.5.5.7.48.1', caIssuers: '1.3.6.1.5.5.7.48.2' } as const;

/** Policy qualifiers, RFC 5280 §4.2.1.4. */
export const QUALIFIER_OID = { cps: '1.3.6.1.5.5.7.2.1', userNotice: '1.3.6.1.5.5.7.2.2' } as const;

/** Kinds of public keys: RFC 3279 §2.3, RFC 4055 §1.2, RFC 5480 §2.1.1, RFC 8410 §3. */
export const KEY_OID = {
  rsaEncryption: '1.2.840.113549.1.1.1',
  ecPublicKey: '1.2.840.10045.2.1',
  ed25519: '1.3.101.112',
} as const;

/** Named curves by their size in bits, RFC 5480 §2.1.1.1. */
export const CURVE_OID = {
  224: '1.3.132.0.33',
  256: '1.2.840.10045.3.1.7',
  384: '1.3.132.0.34',
  521: '1.3.132.0.35',
} as const;

/** RFC 3279 §2.2.3, RFC 4055 §3 and §5, RFC 5758 §3.2, RFC 8410 §3. */
export const SIGNATURE_OID = {
  sha256WithRSAEncryption: '1.2.840.113549.1.1.11',
  sha384WithRSAEncryption: '1.2.840.113549.1.1.12',
  sha512WithRSAEncryption: '1.2.840.113549.1.1.13',
  rsassaPss: '1.2.840.113549.1.1.10',
  mgf1: '1.2.840.113549.1.1.8',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  ecdsaWithSha384: '1.2.840.10045.4.3.3',
  ecdsaWithSha512: '1.2.840.10045.4.3.4',
  ed25519: '1.3.101.112',
} as const;

/** RFC 3279 §2.2, RFC 4055 §2.1. */
export const HASH_OID = {
  sha1: '1.3.14.3.2.26',
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',
} as const;

/** Extended key usages, under the API's names, in the order certificates list them. */
export const EXT_KEY_USAGE_OID = {
  Any: '2.5.29.37.0',
  ServerAuth: '1.3.6.1.5.5.7.3.1',
  ClientAuth: '1.3.6.1.5.5.7.3.2',
  CodeSigning: '1.3.6.1.5.5.7.3.3',
  EmailProtection: '1.3.6.1.5.5.7.3.4',
  IPSECEndSystem: '1.3.6.1.5.5.7.3.5',
  IPSECTunnel: '1.3.6.1.5.5.7.3.6',
  IPSECUser: '1.3.6.1.5.5.7.3.7',
  TimeStamping: '1.3.6.1.5.5.7.3.8',
  OCSPSigning: '1.3.6.1.5.5.7.3.9',
  MicrosoftServerGatedCrypto: '1.3.6.1.4.1.311.10.3.3',
  NetscapeServerGatedCrypto: '2.16.840.1.113730.4.1',
  MicrosoftCommercialCodeSigning: '1.3.6.1.4.1.311.2.1.22',
  MicrosoftKernelCodeSigning: '1.3.6.1.4.1.311.61.1.1',
} as const;
