import { z } from 'zod';
import { convertFlag, convertInteger, isPlainObject } from '../../../core/conversions.ts';
import { parseDuration } from '../../../core/durations.ts';
import { invalid } from '../../../core/failure.ts';
import type { FieldKind } from '../../../core/field.ts';
import { fieldKind } from '../../../core/field-kind.ts';
import { durationText, integer, text } from '../../../core/fields.ts';
import { parseJsonText } from '../../../core/json-text.ts';
import { parseTimestamp } from '../../../core/timestamps.ts';
import { oid } from '../../../x509/der.ts';
import type { Extension } from '../../../x509/extensions.ts';
import { EXTENSION_OID } from '../../../x509/oids.ts';
import type { RevokedEntry } from '../../../x509/revoked-certificates.ts';
import { formatSerial, parseSerial } from '../../../x509/serial.ts';

/** What every CRL that is signed as it was asked for has. */
export const crlRequestFields = {
  crl_number: integer().describe('CRLNumber of the CRL, 0 or more.'),
  delta_crl_base_number: integer(-1).describe(
    'Number of the complete CRL that this one adds to; -1: it is a complete one itself.',
  ),
  next_update: durationText('72h').describe('For how long it is good.'),
  format: text('pem').describe('`pem`, or `der`: base64 of the DER.'),
};
export type CrlRequest = z.output<z.ZodObject<typeof crlRequestFields>>;

/** Most CRLs that are made one at a time. */
const MOST_CRLS = 100;

/** CRLs, each a text of its own; one text may have several. */
export const crlList: FieldKind<string[]> = fieldKind({
  accepts: `a list of at most ${MOST_CRLS} CRLs, each in PEM`,
  convert(value) {
    const items: unknown = typeof value === 'string' ? [value] : value;
    if (!Array.isArray(items) || items.length > MOST_CRLS) return undefined;
    return items.every((item) => typeof item === 'string') ? items : undefined;
  },
  output: z.array(z.string()),
});

type Item = Record<string, unknown>;

/** Most entries of a CRL that is signed as it was asked for. @see P-338 */
export const MOST_ENTRIES = 5_000;
/** No certificate or CRL has as many extensions; each is held against the others. */
const MOST_EXTENSIONS = 100;

/** Of a list that comes as a text; a body has no more. */
const LIST_TEXT = { maxDepth: 8, maxMembers: 2 * MOST_ENTRIES, maxValues: 40_000 };

/** Maps, whose fields are looked at one by one. */
const mapsUpTo = (most: number): FieldKind<Item[]> =>
  fieldKind({
    accepts: `a list of at most ${most.toLocaleString('en')} maps`,
    convert(value) {
      const items = typeof value === 'string' ? parseJsonText(value, LIST_TEXT) : value;
      if (!Array.isArray(items) || items.length > most) return undefined;
      return items.every(isPlainObject) ? items : undefined;
    },
    output: z.array(z.record(z.string(), z.unknown())),
  });
export const entryList: FieldKind<Item[]> = mapsUpTo(MOST_ENTRIES);
export const extensionList: FieldKind<Item[]> = mapsUpTo(MOST_EXTENSIONS);

/** A request whose numbers and times can be. */
export interface CheckedRequest {
  crl_number: number;
  /** Undefined: complete. */
  base_number: number | undefined;
  /** Seconds. */
  lifetime: number;
  format: 'pem' | 'der';
}

/** @throws Failure `invalid` for what is first wrong */
export function checkRequest(request: CrlRequest): CheckedRequest {
  const { crl_number, delta_crl_base_number: base, next_update, format } = request;
  if (crl_number < 0) throw refuse('crl_number', `${crl_number} is below 0`);
  if (base < -1) throw refuse('delta_crl_base_number', `${base} is below -1`);
  const lifetime = Math.trunc(parseDuration(next_update) ?? Number.NaN);
  if (!(lifetime > 0)) {
    throw refuse('next_update', `"${next_update}" is no duration longer than zero`);
  }
  const word = format.toLowerCase();
  if (word !== 'pem' && word !== 'der') throw refuse('format', 'neither "pem" nor "der"');
  return { crl_number, base_number: base === -1 ? undefined : base, lifetime, format: word };
}

const refuse = (field: string, why: string) =>
  invalid(`${field}: ${why}`, { fields: { [field]: why } });

/** What a CRL says of itself is not for others to say. @see P-300 */
const RESERVED: readonly string[] = [
  EXTENSION_OID.authorityKeyIdentifier,
  EXTENSION_OID.cRLNumber,
  EXTENSION_OID.deltaCRLIndicator,
];

/**
 * Extensions of the CRL itself.
 *
 * @throws Failure `invalid` naming what is wrong
 */
export function parseCrlExtensions(items: readonly Item[]): Extension[] {
  const extensions = parseExtensionItems(items, 'extensions');
  for (const { oid: type } of extensions) {
    if (RESERVED.includes(type)) throw refuse('extensions', `the extension ${type} is reserved`);
  }
  return extensions;
}

function parseExtensionItems(items: readonly Item[], where: string): Extension[] {
  if (items.length > MOST_EXTENSIONS) {
    throw refuse(where, `more than ${MOST_EXTENSIONS} extensions`);
  }
  const seen = new Set<string>();
  return items.map(({ id, critical = false, value }) => {
    const flag = convertFlag(critical);
    if (typeof id !== 'string' || !isOid(id)) throw refuse(where, 'an id is no object identifier');
    if (flag === undefined) throw refuse(where, 'critical is neither true nor false');
    if (typeof value !== 'string' || !BASE64.test(value)) {
      throw refuse(where, `the value of ${id} is not base64`);
    }
    if (seen.has(id)) throw refuse(where, `the extension ${id} comes twice`);
    seen.add(id);
    return { oid: id, critical: flag, value: new Uint8Array(Buffer.from(value, 'base64')) };
  });
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const OID = /^[0-2](?:\.\d{1,20}){1,64}$/;

function isOid(id: string): boolean {
  if (!OID.test(id)) return false;
  try {
    oid(id);
    return true;
  } catch {
    return false;
  }
}

/**
 * One entry of `revoked_certs`.
 *
 * @throws Failure `invalid` naming what is wrong
 */
export function parseRevokedItem(item: Item): RevokedEntry & { serial: string } {
  const { serial_number, revocation_time, extensions = [] } = item;
  const where = 'revoked_certs';
  const serialNumber =
    typeof serial_number === 'string' && serial_number !== ''
      ? parseSerial(serial_number.trim().replaceAll(/[.\- ]/g, ':'))
      : undefined;
  if (!serialNumber) throw refuse(where, 'an entry has no serial_number in hex');
  const serial = formatSerial(serialNumber);
  const seconds = readTime(revocation_time);
  if (seconds === undefined) {
    throw refuse(where, `revocation_time of ${serial} is neither Unix seconds nor RFC 3339`);
  }
  if (!Array.isArray(extensions) || !extensions.every(isPlainObject)) {
    throw refuse(where, `extensions of ${serial} are no list of maps`);
  }
  const parsed = parseExtensionItems(extensions, where);
  return {
    serial,
    serialNumber,
    revocationTime: seconds,
    ...(parsed.length > 0 && { extensions: parsed }),
  };
}

/** The last second that a CRL can name. */
const LAST_SECOND = Date.UTC(9999, 11, 31, 23, 59, 59) / 1000;

function readTime(value: unknown): number | undefined {
  const seconds =
    convertInteger(value) ?? (typeof value === 'string' ? parseTimestamp(value) : undefined);
  if (seconds === undefined || seconds < 0 || seconds > LAST_SECOND) return undefined;
  return Math.floor(seconds);
}
