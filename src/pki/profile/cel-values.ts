import { isIP } from 'node:net';
import { z } from 'zod';
import { Failure, invalid } from '../../core/failure.ts';
import { parseTimestamp } from '../../core/timestamps.ts';
import { isOid } from '../../x509/der.ts';
import { readDer, requireWellFormed } from '../../x509/der-reader.ts';
import type { Extension } from '../../x509/extensions.ts';
import { formatIpAddress } from '../../x509/ip-addresses.ts';
import { EXTENSION_OID } from '../../x509/oids.ts';
import { EXT_KEY_USAGES, KEY_USAGES } from '../fields/cel-usages.ts';
import { toAsciiDnsName } from '../fields/host-name.ts';

// Values of what a program describes, as the rest of the authority has them.

/** Extensions that have fields of their own, or are the issuer's to write: id-ce, access, signed timestamps. */
const RESERVED = ['2.5.29.', '1.3.6.1.4.1.11129.2.4.'];
const OWN_EXTENSIONS: ReadonlySet<string> = new Set(Object.values(EXTENSION_OID));

/** Says of which field of the output it cannot be. */
export function refuse(field: string, because: string): Failure {
  return invalid(`cel_program: ${field}: ${because}`, { fields: { [field]: because } });
}

export function readAs<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: string,
): z.output<Schema> {
  const { data, error } = schema.safeParse(value);
  if (!error) return data as z.output<Schema>;
  const [issue] = error.issues;
  const path = [place, ...(issue?.path ?? []).map(String)].filter((one) => one !== '').join('.');
  throw refuse(path, issue?.message ?? 'it cannot be read');
}

export function readKeyUsage(stated: string | number): string[] {
  const known = KEY_USAGES.find(({ constant }) => constant === stated);
  if (known) return [known.name];
  const mask = Number(stated);
  const all = KEY_USAGES.reduce((sum, { number }) => sum | number, 0);
  if (!Number.isInteger(mask) || mask < 0 || mask > all) {
    throw refuse('template.KeyUsage', 'a sum of values of KeyUsage');
  }
  return KEY_USAGES.filter(({ number }) => (mask & number) !== 0).map(({ name }) => name);
}

export function readExtKeyUsage(stated: string | number, at: number): string {
  const known = EXT_KEY_USAGES.find(
    ({ constant, number }) => constant === stated || number === stated,
  );
  if (known) return known.name;
  throw refuse(`template.ExtKeyUsage[${at}]`, 'a value of ExtKeyUsage');
}

/** Each as one name: nothing is split, left out or taken for another kind later. */
export function readNames({
  DNSNames,
  EmailAddresses,
}: {
  DNSNames: readonly string[];
  EmailAddresses: readonly string[];
}): string {
  for (const [at, name] of DNSNames.entries()) {
    if (name.includes('@') || /[\s,]/.test(name) || toAsciiDnsName(name) === undefined) {
      throw refuse(`template.DNSNames[${at}]`, `${quote(name)} is no host name`);
    }
  }
  for (const [at, name] of EmailAddresses.entries()) {
    if (!/^[^\s,@]+@[^\s,@]+$/.test(name)) {
      throw refuse(`template.EmailAddresses[${at}]`, `${quote(name)} is no e-mail address`);
    }
  }
  return [...DNSNames, ...EmailAddresses].join(',');
}

const quote = (text: string): string => JSON.stringify(text.slice(0, 64));

export function readAddress(address: Uint8Array, at: number): string {
  if (address.length === 4 || address.length === 16) {
    const text = formatIpAddress(address);
    if (text !== undefined && isIP(text) !== 0) return text;
  }
  throw refuse(`template.IPAddresses[${at}]`, 'its IP has 4 or 16 bytes');
}

const uriSchema = z.strictObject({
  Scheme: z.string().default(''),
  Opaque: z.string().default(''),
  Host: z.string().default(''),
  Path: z.string().default(''),
  RawPath: z.string().default(''),
  RawQuery: z.string().default(''),
  ForceQuery: z.boolean().default(false),
  Fragment: z.string().default(''),
  RawFragment: z.string().default(''),
  OmitHost: z.boolean().default(false),
});

export function readUri(given: Readonly<Record<string, unknown>>, at: number): string {
  const place = `template.URIs[${at}]`;
  if ('User' in given) throw refuse(`${place}.User`, 'a certificate names nobody before a host');
  const url = readAs(uriSchema, given, place);
  if (!/^[A-Za-z][A-Za-z0-9+.-]*$/.test(url.Scheme)) throw refuse(`${place}.Scheme`, 'a scheme');
  if (/[/?#@\s]/.test(url.Host)) throw refuse(`${place}.Host`, 'a host, with a port if need be');
  const path = url.RawPath || url.Path;
  const place_of = url.Opaque || `${url.OmitHost ? '' : `//${url.Host}`}${rooted(path, url.Host)}`;
  const query = url.RawQuery || url.ForceQuery ? `?${url.RawQuery}` : '';
  const fragment = url.RawFragment || url.Fragment;
  return `${url.Scheme}:${place_of}${query}${fragment ? `#${fragment}` : ''}`;
}

const rooted = (path: string, host: string): string =>
  host !== '' && path !== '' && !path.startsWith('/') ? `/${path}` : path;

/** @returns seconds; 0 where the mount's default counts */
export function readEnd(text: string, now: number): number {
  if (text === '') return 0;
  const end = parseTimestamp(text);
  if (end !== undefined && end > now) return end - now;
  throw refuse('template.NotAfter', 'a time that is still to come');
}

/** Without parts of seconds, which certificates do not have. */
export function readBeginning(text: string): string {
  if (text === '' || parseTimestamp(text) !== undefined) return text;
  throw refuse('template.NotBefore', 'a time since 1970');
}

export function readKeyId(id: Uint8Array | undefined): Uint8Array | undefined {
  if (!id || id.length === 0) return undefined;
  if (id.length <= 64) return id;
  throw refuse('subject_key_id', 'at most 64 bytes');
}

/** More than certificates have, and each of more bytes than they are. */
const MOST_EXTENSIONS = 32;
const LONGEST_EXTENSION = 16_384;

export function readExtensions(
  given: readonly { Id: readonly number[]; Critical: boolean; Value: Uint8Array }[],
): Extension[] {
  if (given.length > MOST_EXTENSIONS) {
    throw refuse('template.ExtraExtensions', `at most ${MOST_EXTENSIONS}`);
  }
  const seen = new Set<string>();
  return given.map(({ Id, Critical: critical, Value: value }, at) => {
    const place = `template.ExtraExtensions[${at}]`;
    const oid = Id.join('.');
    if (!isOid(oid)) throw refuse(`${place}.Id`, 'the numbers of an object identifier');
    if (OWN_EXTENSIONS.has(oid) || RESERVED.some((arc) => oid.startsWith(arc))) {
      throw refuse(`${place}.Id`, `${oid} is written from what has fields of its own`);
    }
    if (seen.has(oid)) throw refuse(`${place}.Id`, `${oid} is there already`);
    seen.add(oid);
    if (value.length > LONGEST_EXTENSION || !isDer(value)) {
      throw refuse(`${place}.Value`, `one DER value of at most ${LONGEST_EXTENSION} bytes`);
    }
    return { oid, critical, value };
  });
}

function isDer(value: Uint8Array): boolean {
  try {
    requireWellFormed(readDer(value));
    return true;
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}
