/** The nameConstraints extension: which names certificates below a CA may hold (RFC 5280 §4.2.1.10). */

import { invalid } from '../core/failure.ts';
import { contextConstructed, contextPrimitive, sequence } from './der.ts';
import {
  children,
  DerError,
  DerFields,
  type DerValue,
  onlyChild,
  readDer,
  requireWellFormed,
} from './der-reader.ts';
import { readAscii } from './der-strings.ts';
import type { Extension } from './extensions.ts';
import { asciiName, GENERAL_NAME_TAG } from './general-names.ts';
import { formatIpRange, parseIpRange } from './ip-addresses.ts';
import { parseName, type RdnSequence } from './names.ts';
import { EXTENSION_OID } from './oids.ts';

/** Subtrees as requests give them: domains, `10.0.0.0/8`, mailboxes or hosts, hosts of URIs. */
export interface NameConstraints {
  permitted_dns_domains: readonly string[];
  excluded_dns_domains: readonly string[];
  permitted_ip_ranges: readonly string[];
  excluded_ip_ranges: readonly string[];
  permitted_email_addresses: readonly string[];
  excluded_email_addresses: readonly string[];
  permitted_uri_domains: readonly string[];
  excluded_uri_domains: readonly string[];
}

export const NAME_CONSTRAINT_FIELDS = [
  'permitted_dns_domains',
  'excluded_dns_domains',
  'permitted_ip_ranges',
  'excluded_ip_ranges',
  'permitted_email_addresses',
  'excluded_email_addresses',
  'permitted_uri_domains',
  'excluded_uri_domains',
] as const satisfies readonly (keyof NameConstraints)[];

type Field = keyof NameConstraints;
type Side = 'permitted' | 'excluded';

/** Kinds of subtrees in the order they are written, with what the fields of both sides end in. */
const KINDS = [
  { tag: GENERAL_NAME_TAG.dns, of: 'dns_domains' },
  { tag: GENERAL_NAME_TAG.ip, of: 'ip_ranges' },
  { tag: GENERAL_NAME_TAG.email, of: 'email_addresses' },
  { tag: GENERAL_NAME_TAG.uri, of: 'uri_domains' },
] as const;

export type ConstrainedKind = (typeof KINDS)[number]['of'];

/**
 * nameConstraints, critical; undefined when no subtree is given.
 *
 * @throws Failure `invalid`, naming the field, for what is no subtree of its kind: a text that no
 *   name can be within would permit nothing, or exclude nothing, and nobody would be told
 */
export function nameConstraints(wanted: Partial<NameConstraints>): Extension | undefined {
  // Of a leaf.
  if (Object.keys(wanted).length === 0) return undefined;
  const permitted = encodeSubtrees(wanted, 'permitted');
  const excluded = encodeSubtrees(wanted, 'excluded');
  if (permitted.length + excluded.length === 0) return undefined;
  const parts: Uint8Array[] = [];
  if (permitted.length > 0) parts.push(contextConstructed(0, ...permitted));
  if (excluded.length > 0) parts.push(contextConstructed(1, ...excluded));
  return { oid: EXTENSION_OID.nameConstraints, critical: true, value: sequence(...parts) };
}

function encodeSubtrees(wanted: Partial<NameConstraints>, side: Side): Uint8Array[] {
  return KINDS.flatMap((kind) => {
    const field = `${side}_${kind.of}` as const;
    return (wanted[field] ?? []).map((text) =>
      sequence(
        kind.tag === GENERAL_NAME_TAG.ip
          ? contextPrimitive(kind.tag & 0x1f, requireRange(text, field))
          : asciiName(kind.tag, requireSubtree(kind.tag, text, field), field),
      ),
    );
  });
}

const HOST = String.raw`[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*`;
const DOMAIN = new RegExp(`^\\.?${HOST}$`, 'i');
const MAILBOXES = new RegExp(`^(?:\\.|[a-z0-9!#$%&'*+/=?^_\`{|}~.-]{1,64}@)?${HOST}$`, 'i');

/** A domain, with or without a dot in front; of mailboxes one of them, too. */
function requireSubtree(tag: number, text: string, field: Field): string {
  const isMail = tag === GENERAL_NAME_TAG.email;
  if (text.length <= 320 && (isMail ? MAILBOXES : DOMAIN).test(text)) return text;
  const shown = JSON.stringify(text.slice(0, 64));
  const accepted = isMail
    ? 'an address, a host, or ".example.com" for the hosts beneath it'
    : 'a domain such as example.com, or ".example.com" for what is beneath it';
  throw invalid(`${field}: ${shown} is not ${accepted}`, {
    fields: { [field]: accepted },
  });
}

function requireRange(text: string, field: Field): Uint8Array {
  const range = parseIpRange(text);
  if (!range) {
    const shown = JSON.stringify(text.slice(0, 64));
    throw invalid(`${field}: ${shown} is not a range such as 10.0.0.0/8`, {
      fields: { [field]: 'ranges in CIDR form are accepted' },
    });
  }
  return range;
}

interface ParsedNameConstraints extends Record<Field, string[]> {
  /** Each how the names within it begin; one without parts holds every name. */
  permitted_directory_names: RdnSequence[];
  excluded_directory_names: RdnSequence[];
  /** Tags of the kinds of subtrees that are not taken apart, such as otherNames. */
  other_kinds: number[];
}

/** Reads the extension's value. @throws DerError also for ranges whose mask is no prefix, and names that are none */
export function parseNameConstraints(value: Uint8Array): ParsedNameConstraints {
  const found: ParsedNameConstraints = {
    permitted_dns_domains: [],
    excluded_dns_domains: [],
    permitted_ip_ranges: [],
    excluded_ip_ranges: [],
    permitted_email_addresses: [],
    excluded_email_addresses: [],
    permitted_uri_domains: [],
    excluded_uri_domains: [],
    permitted_directory_names: [],
    excluded_directory_names: [],
    other_kinds: [],
  };
  const fields = new DerFields(readDer(value));
  readSubtrees(fields.takeIf(0xa0), 'permitted', found);
  readSubtrees(fields.takeIf(0xa1), 'excluded', found);
  fields.end();
  return found;
}

function readSubtrees(list: DerValue | undefined, side: Side, found: ParsedNameConstraints): void {
  for (const subtree of list ? children(list) : []) {
    const fields = new DerFields(subtree);
    const base = fields.take();
    // minimum and maximum are not used in certificates; RFC 5280 has them 0 and absent.
    fields.end();
    const kind = KINDS.find(({ tag }) => tag === base.tag);
    if (base.tag === GENERAL_NAME_TAG.directoryName) {
      const { raw } = onlyChild(base);
      found[`${side}_directory_names`].push(parseName(raw).attributes);
    } else if (!kind) {
      requireWellFormed(base);
      if (!found.other_kinds.includes(base.tag)) found.other_kinds.push(base.tag);
    } else if (kind.tag === GENERAL_NAME_TAG.ip) {
      const range = formatIpRange(base.content);
      if (range === undefined) throw new DerError('a name constraint whose IP range is no range');
      found[`${side}_${kind.of}`].push(range);
    } else {
      found[`${side}_${kind.of}`].push(readAscii(base));
    }
  }
}
