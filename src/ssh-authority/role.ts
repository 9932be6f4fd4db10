import { z } from 'zod';
import { choice, duration, flag, shortList, stringMap, text } from '../core/fields.ts';
import { domainList } from '../pki/fields/field-kinds.ts';
import { principalsText } from './field-kinds.ts';

const NONE: Record<string, string> = {};

/** What a role lets whoever uses it ask for. */
export const roleFields = {
  key_type: choice(['ca']).describe('"ca": the authority signs keys. There are no others.'),
  allow_user_certificates: flag(false).describe('Sign certificates of users.'),
  allow_host_certificates: flag(false).describe('Sign certificates of hosts.'),
  allowed_users: shortList([]).describe(
    'Users that a certificate may name; "*": any. The default user may be named in any case.',
  ),
  default_user: principalsText('').describe('Users of a certificate when a request names none.'),
  allowed_domains: domainList([]).describe(
    'Domains of hosts that a certificate may name; "*": any.',
  ),
  allow_bare_domains: flag(false).describe('Permit the listed domains themselves.'),
  allow_subdomains: flag(false).describe('Permit every name beneath a listed domain.'),
  ttl: duration(0).describe('Validity when a request names none. Seconds; 0: the mount default.'),
  max_ttl: duration(0).describe('Longest validity that is granted. Seconds; 0: the mount maximum.'),
  not_before_duration: duration(30).describe(
    'A certificate is valid so long before it is made, for hosts whose clock is behind. Seconds.',
  ),
  allowed_critical_options: shortList([]).describe(
    'Critical options that a request may set; none listed: any.',
  ),
  default_critical_options: stringMap(NONE).describe(
    'Critical options of a certificate when a request sets none.',
  ),
  allowed_extensions: shortList([]).describe(
    'Extensions that a request may set; "*": any; none listed: none.',
  ),
  default_extensions: stringMap(NONE).describe('Extensions when a request sets none.'),
  allow_user_key_ids: flag(false).describe('A request may say the key id.'),
  key_id_format: text('').describe(
    'The key id otherwise, with {{token_display_name}}, {{role_name}} and {{public_key_hash}} filled in; by default "vault-{{token_display_name}}-{{public_key_hash}}".',
  ),
  algorithm_signer: choice(['default', 'rsa-sha2-256', 'rsa-sha2-512'], 'default').describe(
    'How an authority with an RSA key signs; "default": "rsa-sha2-512". Never with SHA-1.',
  ),
  allowed_user_key_lengths: stringMap(NONE).describe(
    'Not there: anything but none is refused, rather than not held to.',
  ),
};
export const roleSchema = z.object(roleFields);
export type SshRole = z.output<typeof roleSchema>;
