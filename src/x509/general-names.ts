/** GeneralNames: subjectAltName and whatever else names hosts, people and places (RFC 5280 §4.2.1.6). */

import { invalid } from '../core/failure.ts';
import {
  contextConstructed,
  contextPrimitive,
  isOid,
  latin1Bytes,
  oid,
  sequence,
  TAG,
  utf8String,
} from './der.ts';
import { readOid } from './der-primitives.ts';
import {
  children,
  DerError,
  DerFields,
  type DerValue,
  expect,
  onlyChild,
  readDer,
  requireWellFormed,
} from './der-reader.ts';
import { readAscii, readString } from './der-strings.ts';
import { formatIpAddress, parseIpAddress } from './ip-addresses.ts';

export interface OtherName {
  oid: string;
  /** Written and read as UTF8String. */
  value: string;
}

export interface SubjectAltNames {
  /** ASCII, e.g. `*.example.com`. */
  dns: readonly string[];
  email: readonly string[];
  /** Text form, e.g. `192.0.2.1` or `2001:db8::1`. */
  ip: readonly string[];
  uri: readonly string[];
  other: readonly OtherName[];
}

export interface ParsedAltNames {
  dns: string[];
  email: string[];
  ip: string[];
  uri: string[];
  other: OtherName[];
  /** GeneralNames of other kinds, whole: directory names, registered ids, otherNames that are no UTF8String. */
  unknown: Uint8Array[];
}

/** Context tags of GeneralName, constructed bit included. */
export const GENERAL_NAME_TAG = {
  otherName: 0xa0,
  email: 0x81,
  dns: 0x82,
  x400Address: 0xa3,
  directoryName: 0xa4,
  ediPartyName: 0xa5,
  uri: 0x86,
  ip: 0x87,
  registeredId: 0x88,
} as const;

/** Number of names one certificate may carry; far more than anyone wants, and a bound on what is stored. */
export const MAX_NAMES = 5_000;

/** Says whether there is no name at all. */
export function hasNoNames(names: SubjectAltNames): boolean {
  const { dns, email, ip, uri, other } = names;
  return dns.length + email.length + ip.length + uri.length + other.length === 0;
}

const VISIBLE = /^[\x20-\x7e]+$/;

/**
 * One GeneralName of an IA5String kind.
 *
 * @param field the request field to name in a refusal
 * @throws Failure `invalid` for an empty text and for characters beyond printable ASCII
 */
export function asciiName(tag: number, text: string, field: string): Uint8Array {
  if (!VISIBLE.test(text)) {
    throw invalid(
      `${field}: ${JSON.stringify(text.slice(0, 256))} is not made of printable ASCII characters`,
      { fields: { [field]: 'printable ASCII characters are accepted' } },
    );
  }
  return contextPrimitive(tag & 0x1f, latin1Bytes(text));
}

/** GeneralName of an address. @throws Failure `invalid` when the text is none */
function ipName(text: string): Uint8Array {
  const bytes = parseIpAddress(text);
  if (!bytes) {
    const shown = JSON.stringify(text.slice(0, 64));
    throw invalid(`the value ${shown} is not a valid IP address`, {
      fields: { ip_sans: 'IPv4 and IPv6 addresses are accepted' },
    });
  }
  return contextPrimitive(GENERAL_NAME_TAG.ip & 0x1f, bytes);
}

/** GeneralName of an otherName holding a UTF8String. @throws Failure `invalid` for a bad OID or text */
function otherName(name: OtherName): Uint8Array {
  if (!isOid(name.oid) || name.value.includes('\0') || !name.value.isWellFormed()) {
    throw invalid(
      `other_sans: ${JSON.stringify(name.oid.slice(0, 128))} needs an object identifier and a text`,
    );
  }
  return contextConstructed(0, oid(name.oid), contextConstructed(0, utf8String(name.value)));
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * The value of a subjectAltName extension: otherNames by OID, DNS names as given, e-mail addresses
 * sorted, IP addresses and URIs as given. Nothing is deduplicated.
 *
 * @throws Failure `invalid`, naming the field, for what the types cannot hold
 */
export function encodeSubjectAltName(names: SubjectAltNames): Uint8Array {
  const encoded: Uint8Array[] = [];
  const others =
    names.other.length > 1 ? names.other.toSorted((a, b) => byText(a.oid, b.oid)) : names.other;
  const emails = names.email.length > 1 ? names.email.toSorted(byText) : names.email;
  for (const name of others) encoded.push(otherName(name));
  for (const name of names.dns) encoded.push(asciiName(GENERAL_NAME_TAG.dns, name, 'alt_names'));
  for (const name of emails) encoded.push(asciiName(GENERAL_NAME_TAG.email, name, 'alt_names'));
  for (const name of names.ip) encoded.push(ipName(name));
  for (const name of names.uri) encoded.push(asciiName(GENERAL_NAME_TAG.uri, name, 'uri_sans'));
  if (encoded.length > MAX_NAMES) {
    throw invalid(`${encoded.length} subject alternative names, at most ${MAX_NAMES} are accepted`);
  }
  return sequence(...encoded);
}

/**
 * Reads the value of a subjectAltName extension.
 *
 * @throws DerError also for an empty list, empty names, and addresses of a length no IP has
 */
export function parseSubjectAltName(der: Uint8Array): ParsedAltNames {
  const list = children(expect(readDer(der), TAG.sequence));
  if (list.length === 0) throw new DerError('a subjectAltName without names');
  if (list.length > MAX_NAMES)
    throw new DerError(`more than ${MAX_NAMES} subject alternative names`);
  const names: ParsedAltNames = { dns: [], email: [], ip: [], uri: [], other: [], unknown: [] };
  for (const name of list) collectName(name, names);
  return names;
}

function collectName(name: DerValue, names: ParsedAltNames): void {
  switch (name.tag) {
    case GENERAL_NAME_TAG.dns:
      names.dns.push(requireText(name));
      return;
    case GENERAL_NAME_TAG.email:
      names.email.push(requireText(name));
      return;
    case GENERAL_NAME_TAG.uri:
      names.uri.push(requireText(name));
      return;
    case GENERAL_NAME_TAG.ip: {
      const address = formatIpAddress(name.content);
      if (address === undefined)
        throw new DerError(`an IP address of ${name.content.length} bytes`);
      names.ip.push(address);
      return;
    }
    case GENERAL_NAME_TAG.otherName: {
      const fields = new DerFields(name, GENERAL_NAME_TAG.otherName);
      const type = readOid(fields.take());
      const value = onlyChild(fields.take(0xa0));
      fields.end();
      if (value.tag === TAG.utf8String) {
        names.other.push({ oid: type, value: readString(value) });
        return;
      }
      requireWellFormed(value);
      names.unknown.push(name.raw);
      return;
    }
    case GENERAL_NAME_TAG.directoryName:
    case GENERAL_NAME_TAG.x400Address:
    case GENERAL_NAME_TAG.ediPartyName:
      requireWellFormed(name);
      names.unknown.push(name.raw);
      return;
    case GENERAL_NAME_TAG.registeredId:
      readOid(name, GENERAL_NAME_TAG.registeredId);
      names.unknown.push(name.raw);
      return;
    default:
      throw new DerError(`a name of an unknown kind (tag 0x${name.tag.toString(16)})`);
  }
}

function requireText(name: DerValue): string {
  if (name.content.length === 0) throw new DerError('an empty name in a subjectAltName');
  return readAscii(name);
}
