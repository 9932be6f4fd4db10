/** Directory names under constraints on them: what is let pass, each beside the nearest that is not. */

import {
  contextConstructed,
  oid,
  sequence,
  setOf,
  TAG,
  tlv,
  utf8String,
} from '../../src/x509/der.ts';
import type { Extension } from '../../src/x509/extensions.ts';
import { ATTRIBUTE_OID, EXTENSION_OID } from '../../src/x509/oids.ts';

const KEYWORDS = {
  C: ATTRIBUTE_OID.country,
  O: ATTRIBUTE_OID.organization,
  OU: ATTRIBUTE_OID.ou,
  CN: ATTRIBUTE_OID.common_name,
  DC: ATTRIBUTE_OID.domain_component,
} as const;
type Attribute = [keyword: keyof typeof KEYWORDS | 'bits', value: string | Uint8Array];

const attribute = ([keyword, value]: Attribute): Uint8Array =>
  keyword === 'bits'
    ? sequence(oid('2.5.4.45'), tlv(TAG.bitString, Buffer.from(`\0${value}`, 'latin1')))
    : sequence(oid(KEYWORDS[keyword]), typeof value === 'string' ? utf8String(value) : value);

/** DER of a Name: its parts in order, each of some attributes. */
export const directoryName = (...parts: Attribute[][]): Uint8Array =>
  sequence(...parts.map((part) => setOf(...part.map(attribute))));

/** nameConstraints with subtrees of directory names. */
export function directoryConstraints(
  permitted: readonly Uint8Array[],
  excluded: readonly Uint8Array[] = [],
): Extension {
  const sides = [permitted, excluded].flatMap((names, side) => {
    const subtrees = names.map((name) => sequence(contextConstructed(4, name)));
    return subtrees.length === 0 ? [] : [contextConstructed(side, ...subtrees)];
  });
  return { oid: EXTENSION_OID.nameConstraints, critical: true, value: sequence(...sides) };
}

/** A subjectAltName of directory names alone, critical as beside an empty subject. */
export function directoryAltNames(names: readonly Uint8Array[]): Extension {
  const value = sequence(...names.map((name) => contextConstructed(4, name)));
  return { oid: EXTENSION_OID.subjectAltName, critical: true, value };
}

const one = (keyword: Attribute[0], value: Attribute[1]): Attribute[] => [[keyword, value]];
const name = directoryName;
const bmp = (text: string): Uint8Array => tlv(TAG.bmpString, Buffer.from(text, 'utf16le').swap16());
const printable = (text: string): Uint8Array => tlv(TAG.printableString, Buffer.from(text));
const teletex = (text: string): Uint8Array => tlv(TAG.teletexString, Buffer.from(text, 'latin1'));
const numeric = (text: string): Uint8Array => tlv(TAG.numericString, Buffer.from(text));
const ACME = name(one('C', 'CH'), one('O', 'Acme Inc'));
const within = (O: Attribute[1]): Uint8Array =>
  name(one('C', 'CH'), one('O', O), one('CN', 'w.test'));
const inUnit = (...unit: Attribute[]): Uint8Array => name(unit, one('CN', 'w.test'));
const of = (value: Attribute[1]): Uint8Array => name(one('O', value));

interface Case {
  what: string;
  permitted?: Uint8Array[];
  excluded?: Uint8Array[];
  /** As subject, and as alternative name. */
  named: Uint8Array;
  allowed: boolean;
  /** Where OpenSSL says otherwise, which compares other letters than those of ASCII as they are. */
  openssl?: boolean;
}

export const DIRECTORY_NAME_CASES: readonly Case[] = [
  { what: 'a name beneath', permitted: [ACME], named: within('Acme Inc'), allowed: true },
  { what: 'the subtree itself', permitted: [ACME], named: ACME, allowed: true },
  { what: 'another organization', permitted: [ACME], named: within('Acme Ink'), allowed: false },
  { what: 'a longer text', permitted: [ACME], named: within('Acme Inc.'), allowed: false },
  { what: 'a shorter name', permitted: [ACME], named: name(one('C', 'CH')), allowed: false },
  { what: 'upper case', permitted: [ACME], named: within('ACME INC'), allowed: true },
  {
    what: 'spaces around and between',
    permitted: [ACME],
    named: within('  acme \t  inc '),
    allowed: true,
  },
  { what: 'no space between', permitted: [ACME], named: within('AcmeInc'), allowed: false },
  {
    what: 'PrintableString',
    permitted: [ACME],
    named: within(printable('Acme Inc')),
    allowed: true,
  },
  { what: 'BMPString', permitted: [ACME], named: within(bmp('Acme Inc')), allowed: true },
  { what: 'TeletexString', permitted: [ACME], named: within(teletex('Acme Inc')), allowed: true },
  {
    what: 'TeletexString of an umlaut',
    permitted: [of('Größe')],
    named: of(teletex('Größe')),
    allowed: true,
  },
  {
    what: 'BMPString of another text',
    permitted: [ACME],
    named: within(bmp('Acme Ink')),
    allowed: false,
  },
  {
    what: 'NumericString under digits of UTF8String',
    permitted: [of('12')],
    named: of(numeric('12')),
    allowed: false,
  },
  {
    what: 'the same NumericString',
    permitted: [of(numeric('12'))],
    named: of(numeric('12')),
    allowed: true,
  },
  {
    what: 'the same text as another attribute',
    permitted: [name(one('O', 'x'))],
    named: name(one('OU', 'x')),
    allowed: false,
  },
  {
    what: 'parts in another order',
    permitted: [ACME],
    named: name(one('O', 'Acme Inc'), one('C', 'CH')),
    allowed: false,
  },
  {
    what: 'a part before the subtree',
    permitted: [ACME],
    named: name(one('DC', 'test'), one('C', 'CH'), one('O', 'Acme Inc')),
    allowed: false,
  },
  {
    what: 'a set in another order',
    permitted: [
      name([
        ['OU', 'b'],
        ['O', 'a'],
      ]),
    ],
    named: inUnit(['O', 'A'], ['OU', 'B']),
    allowed: true,
  },
  {
    what: 'one of a set',
    permitted: [
      name([
        ['OU', 'b'],
        ['O', 'a'],
      ]),
    ],
    named: inUnit(['O', 'a']),
    allowed: false,
  },
  {
    what: 'a set with one more',
    permitted: [name([['O', 'a']])],
    named: inUnit(['O', 'a'], ['OU', 'b']),
    allowed: false,
  },
  {
    what: 'a set as parts one after the other',
    permitted: [
      name([
        ['OU', 'b'],
        ['O', 'a'],
      ]),
    ],
    named: name(one('O', 'a'), one('OU', 'b')),
    allowed: false,
  },
  {
    what: 'one text that reads like a set',
    permitted: [
      name([
        ['O', 'a'],
        ['O', 'b'],
      ]),
    ],
    named: of('a+O=b'),
    allowed: false,
  },
  {
    what: 'the same bits',
    permitted: [name(one('bits', 'a'))],
    named: name(one('bits', 'a')),
    allowed: true,
  },
  {
    what: 'bits of another case',
    permitted: [name(one('bits', 'a'))],
    named: name(one('bits', 'A')),
    allowed: false,
  },
  {
    what: 'a text that reads like the DER of bits',
    permitted: [of('#03020061')],
    named: name(one('bits', 'a')),
    allowed: false,
  },
  { what: 'any name under the empty subtree', permitted: [name()], named: of('x'), allowed: true },
  {
    what: 'any name under the empty subtree, excluded',
    excluded: [name()],
    named: of('x'),
    allowed: false,
  },
  {
    what: 'within the second of two',
    permitted: [of('x'), ACME],
    named: within('Acme Inc'),
    allowed: true,
  },
  { what: 'within none of two', permitted: [of('x'), ACME], named: of('y'), allowed: false },
  {
    what: 'within the shorter of two that begin alike',
    permitted: [name(one('C', 'CH'), one('O', 'Acme Inc'), one('OU', 'x')), ACME],
    named: within('Acme Inc'),
    allowed: true,
  },
  { what: 'excluded', excluded: [ACME], named: within('acme inc'), allowed: false },
  { what: 'next to the excluded', excluded: [ACME], named: within('acme ink'), allowed: true },
  { what: 'above the excluded', excluded: [ACME], named: name(one('C', 'CH')), allowed: true },
  {
    what: 'excluded though permitted',
    permitted: [name(one('C', 'CH'))],
    excluded: [ACME],
    named: within('Acme Inc'),
    allowed: false,
  },
  {
    what: 'permitted and not excluded',
    permitted: [name(one('C', 'CH'))],
    excluded: [ACME],
    named: within('Other'),
    allowed: true,
  },
  { what: 'an umlaut in upper case', permitted: [of('größe')], named: of('GRÖßE'), allowed: false },
  {
    what: 'an umlaut of two characters',
    permitted: [of('größe')],
    named: of('gro\u0308ße'),
    allowed: false,
  },
  {
    what: 'excluded in upper case of any script',
    excluded: [of('größe')],
    named: of('GRÖSSE'),
    allowed: false,
    openssl: true,
  },
  {
    what: 'excluded with a mark apart',
    excluded: [of('größe')],
    named: of('gro\u0308ße'),
    allowed: false,
    openssl: true,
  },
  {
    what: 'excluded in full width',
    excluded: [of('acme')],
    named: of('ａｃｍｅ'),
    allowed: false,
    openssl: true,
  },
  {
    what: 'excluded with a hidden hyphen',
    excluded: [of('acme')],
    named: of('ac\u00adme'),
    allowed: false,
    openssl: true,
  },
  {
    what: 'excluded with a hard space',
    excluded: [of('a b')],
    named: of('a\u00a0b'),
    allowed: false,
    openssl: true,
  },
  {
    what: 'excluded as NumericString',
    excluded: [of('12')],
    named: of(numeric('12')),
    allowed: false,
    openssl: true,
  },
  {
    what: 'another letter than the excluded',
    excluded: [of('größe')],
    named: of('grüße'),
    allowed: true,
  },
];
