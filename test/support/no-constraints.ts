import type { NameConstraints } from '../../src/x509/name-constraints.ts';

/** Constraints that let every name pass. */
export const NO_CONSTRAINTS: NameConstraints = {
  permitted_dns_domains: [],
  excluded_dns_domains: [],
  permitted_ip_ranges: [],
  excluded_ip_ranges: [],
  permitted_email_addresses: [],
  excluded_email_addresses: [],
  permitted_uri_domains: [],
  excluded_uri_domains: [],
};
