/** Distinguished names: subjects and issuers (RFC 5280 §4.1.2.4, RFC 4514). */

import { invalid } from '../core/failure.ts';
import { directoryString, oid, sequence, setOf, TAG } from './der.ts';
import { readOid } from './der-primitives.ts';
import {
  children,
  DerError,
  DerFields,
  type DerValue,
  expect,
  readDer,
  requireWellFormed,
} from './der-reader.ts';
import { readString } from './der-strings.ts';
import { ATTRIBUTE_OID } from './oids.ts';

/** The parts of a subject that requests and roles can set. Empty texts are as good as absent. */
export interface SubjectFields {
  country?: readonly string[];
  organization?: readonly string[];
  ou?: readonly string[];
  locality?: readonly string[];
  province?: readonly string[];
  street_address?: readonly string[];
  postal_code?: readonly string[];
  common_name?: string;
  /** The subject's serialNumber attribute, not the certificate's serial number. */
  serial_number?: string;
  user_ids?: readonly string[];
}

type FieldName = keyof SubjectFields;

/** More attributes than any name has. */
const MAX_ATTRIBUTES = 256;

/** Fields in the order their attributes take in a subject we write. */
const FIELDS: readonly FieldName[] = [
  'country',
  'organization',
  'ou',
  'locality',
  'province',
  'street_address',
  'postal_code',
  'common_name',
  'serial_number',
  'user_ids',
];

const FIELD_BY_OID = new Map<string, FieldName>(FIELDS.map((name) => [ATTRIBUTE_OID[name], name]));

/**
 * Writes a subject: one RelativeDistinguishedName a field, several values of a field inside it,
 * each value once; PrintableString where its alphabet allows, else UTF8String.
 *
 * @throws Failure `invalid`, naming the field, for a text with NUL or half of a surrogate pair
 */
export function encodeSubject(fields: SubjectFields): Uint8Array {
  const names: Uint8Array[] = [];
  for (const field of FIELDS) {
    const given = fields[field];
    // Of ten fields a leaf has one or two.
    if (given === undefined || given.length === 0) continue;
    const type = oid(ATTRIBUTE_OID[field]);
    const values = typeof given === 'string' ? [given] : distinct(given);
    const attributes: Uint8Array[] = [];
    if (values.length > MAX_ATTRIBUTES) {
      throw invalid(`${field}: a name of more than ${MAX_ATTRIBUTES} attributes`, {
        fields: { [field]: `at most ${MAX_ATTRIBUTES} values` },
      });
    }
    for (const value of values) {
      if (value === '') continue;
      if (value.includes('\0') || !value.isWellFormed()) {
        throw invalid(`${field} may hold any text without NUL characters`);
      }
      attributes.push(sequence(type, directoryString(value)));
    }
    if (attributes.length > 0) names.push(setOf(...attributes));
  }
  return sequence(...names);
}

const distinct = (values: readonly string[]): readonly string[] =>
  values.length > 1 ? [...new Set(values)] : values;

/** A name with further parts at its end, what it has byte for byte. @param name DER */
export function extendName(name: Uint8Array, fields: SubjectFields): Uint8Array {
  return sequence(readDer(name).content, readDer(encodeSubject(fields)).content);
}

export interface NameAttribute {
  oid: string;
  /** Of the value: strings of several types may hold the same text. */
  tag: number;
  /** Text, or `#` and the hexadecimal DER of a value that is not a string. */
  value: string;
}

/** RelativeDistinguishedNames in order, each a set of attributes. */
export type RdnSequence = readonly (readonly NameAttribute[])[];

export interface Name {
  /** The whole Name, for copying and comparing. */
  raw: Uint8Array;
  /** RelativeDistinguishedNames in order, attributes inside each in order. */
  attributes: NameAttribute[][];
  /** The attributes we know by field; of several common names or serial numbers the last counts. */
  fields: ParsedSubject;
}

/** {@link SubjectFields} as read: each list there, empty when the name has none. */
type ParsedSubject = Record<Exclude<FieldName, 'common_name' | 'serial_number'>, string[]> & {
  common_name?: string;
  serial_number?: string;
};

/**
 * Reads a Name.
 *
 * @throws DerError also for a known attribute that is not a string, and for more than 256 attributes
 */
export function parseName(der: Uint8Array): Name {
  const value = expect(readDer(der), TAG.sequence);
  const fields: ParsedSubject = {
    country: [],
    organization: [],
    ou: [],
    locality: [],
    province: [],
    street_address: [],
    postal_code: [],
    user_ids: [],
  };
  const attributes: NameAttribute[][] = [];
  let count = 0;
  for (const set of children(value)) {
    const parts: NameAttribute[] = [];
    for (const part of children(expect(set, TAG.set))) {
      if (++count > MAX_ATTRIBUTES)
        throw new DerError(`a name of more than ${MAX_ATTRIBUTES} attributes`);
      parts.push(readAttribute(part, fields));
    }
    if (parts.length === 0) throw new DerError('a name with an empty part');
    attributes.push(parts);
  }
  return { raw: value.raw, attributes, fields };
}

function readAttribute(part: DerValue, fields: ParsedSubject): NameAttribute {
  const pair = new DerFields(part);
  const type = readOid(pair.take());
  const content = pair.take();
  pair.end();
  const field = FIELD_BY_OID.get(type);
  if (field === undefined && !STRING_TAGS.has(content.tag)) {
    requireWellFormed(content);
    return { oid: type, tag: content.tag, value: `#${Buffer.from(content.raw).toString('hex')}` };
  }
  const text = readString(content);
  if (field === 'common_name' || field === 'serial_number') fields[field] = text;
  else if (field !== undefined) fields[field].push(text);
  return { oid: type, tag: content.tag, value: text };
}

const STRING_TAGS = new Set<number>([
  TAG.utf8String,
  TAG.numericString,
  TAG.printableString,
  TAG.teletexString,
  TAG.ia5String,
  TAG.visibleString,
  TAG.universalString,
  TAG.bmpString,
]);

/** Says whether a Name has no attributes. */
export const isEmptyName = (der: Uint8Array): boolean => der.length === 2;

/** Attribute keywords of RFC 4514 §3, and the registered descriptors for the rest that we write. */
const KEYWORDS = new Map<string, string>([
  [ATTRIBUTE_OID.common_name, 'CN'],
  [ATTRIBUTE_OID.locality, 'L'],
  [ATTRIBUTE_OID.province, 'ST'],
  [ATTRIBUTE_OID.organization, 'O'],
  [ATTRIBUTE_OID.ou, 'OU'],
  [ATTRIBUTE_OID.country, 'C'],
  [ATTRIBUTE_OID.street_address, 'STREET'],
  [ATTRIBUTE_OID.domain_component, 'DC'],
  [ATTRIBUTE_OID.user_ids, 'UID'],
  [ATTRIBUTE_OID.postal_code, 'postalCode'],
  [ATTRIBUTE_OID.serial_number, 'serialNumber'],
]);

/**
 * The name as one line for people, e.g. `CN=a.test,O=Acme\, Inc.`: last part first, as RFC 4514
 * has it. Not for comparing.
 */
export function nameText({ attributes }: { attributes: RdnSequence }): string {
  return attributes
    .toReversed()
    .map((parts) =>
      parts
        .map((part) => `${KEYWORDS.get(part.oid) ?? part.oid}=${escapeValue(part.value)}`)
        .join('+'),
    )
    .join(',');
}

/** RFC 4514 §2.4; control characters as well, since the line is shown on terminals. */
function escapeValue(text: string): string {
  return text
    .replaceAll(/[\\"+,;<>]/g, '\\$&')
    .replaceAll(/^[ #]| $/g, '\\$&')
    .replaceAll(/\p{Cc}/gu, (character) =>
      Array.from(Buffer.from(character), (byte) => `\\${byte.toString(16).padStart(2, '0')}`).join(
        '',
      ),
    );
}
