import { asSet, comparedBy, eachText } from '../../core/comparison.ts';
import { domainInUnicode } from '../../core/domain-names.ts';
import type { FieldKind } from '../../core/field.ts';
import { duration, list, longText, text } from '../../core/fields.ts';
import { parsePem } from '../../core/pem.ts';
import { canonicalAddress, formatIpRange, parseIpRange } from '../../x509/ip-addresses.ts';
import { EXT_KEY_USAGE_NAMES, KEY_USAGE_NAMES } from '../../x509/key-usages.ts';
import { canonicaliseSerial } from '../../x509/serial.ts';
import { isAscii, toAsciiDnsName, toAsciiHostName } from './host-name.ts';
import { parseOtherSan } from './other-san.ts';
import { splitNames } from './split-names.ts';

/** A name of a host, or a mailbox, as it stands in a certificate; other texts as they are. */
function writtenName(name: string): string {
  // Nothing is converted of a name in ASCII, and there are ten thousand of them in a list.
  if (isAscii(name)) return name;
  const at = name.lastIndexOf('@');
  if (at < 0) return toAsciiDnsName(name) ?? name;
  const domain = toAsciiHostName(name.slice(at + 1));
  return domain === undefined ? name : `${name.slice(0, at)}@${domain}`;
}

/** Of a host in A-labels, with its final dot. */
const MAX_NAME = 254;

/** What people of other scripts read in a name. */
function otherScripts(name: string): string[] {
  if (!/xn--/i.test(name)) return [];
  const start = name.startsWith('*.') ? 2 : name.lastIndexOf('@') + 1;
  if (name.length - start > MAX_NAME) return [];
  const unicode = domainInUnicode(name.slice(start));
  return unicode === '' ? [] : [name.slice(0, start) + unicode];
}

const NAMES = { form: eachText(writtenName), also: otherScripts };

/** A host name or mailbox; the same in its own script and in ASCII. */
export const nameText: FieldKind<string> = comparedBy(text, NAMES);

/** Host names and mailboxes in one text, with commas between them: compared one by one. */
export const namesText: FieldKind<string> = comparedBy(longText, {
  form: eachText((names) => {
    try {
      return splitNames(names).map(writtenName);
    } catch {
      return names;
    }
  }),
  also: otherScripts,
});

/** Domains that names are held against without regard to case. */
export const domainList: FieldKind<string[]> = comparedBy(list, {
  form: eachText((name) => writtenName(name).toLowerCase()),
  also: otherScripts,
});

/** What is held against something without regard to case. */
export const foldedList: FieldKind<string[]> = comparedBy(list, {
  form: eachText((item) => item.toLowerCase()),
});

/** How many comparisons of texts reading an item takes as long as. */
const COST = { other_san: 14, address: 9, range: 24 };

const otherSan = (written: string): string => {
  const parsed = parseOtherSan(written);
  return 'because' in parsed ? written : `${parsed.oid};UTF8:${parsed.value}`;
};

/** Other names: `;utf-8:` and `; UTF8 :` are `;UTF8:`. */
export const otherSanList: FieldKind<string[]> = comparedBy(list, {
  form: eachText(otherSan, COST.other_san),
});

export const addressList: FieldKind<string[]> = comparedBy(list, {
  form: eachText(canonicalAddress, COST.address),
});

/** The prefix with which a range of IPv6 addresses is one of IPv4 addresses. */
const MAPPED = { prefix: '::ffff:', bits: 96 };

/** The same range in the other family, where it has one. */
function otherFamily(range: string): string[] {
  const [base = '', bits = ''] = range.split('/');
  if (!base.includes(':')) {
    return base.includes('.') ? [`${MAPPED.prefix}${base}/${Number(bits) + MAPPED.bits}`] : [];
  }
  if (!base.startsWith(MAPPED.prefix) || Number(bits) < MAPPED.bits) return [];
  return [`${base.slice(MAPPED.prefix.length)}/${Number(bits) - MAPPED.bits}`];
}

/** Ranges of addresses as certificates hold them; the family is a part of them. */
export const rangeList: FieldKind<string[]> = comparedBy(list, {
  form: eachText((written) => {
    const range = parseIpRange(written);
    return (range && formatIpRange(range)) ?? written;
  }, COST.range),
  also: otherFamily,
});

function usageList(known: readonly string[]): FieldKind<string[]> {
  const byFolded = new Map(known.map((name) => [name.toLowerCase(), name]));
  return comparedBy(list, {
    form: asSet((name) => byFolded.get(name.trim().toLowerCase()) ?? name.trim()),
  });
}

export const keyUsageList = usageList(KEY_USAGE_NAMES);
export const extKeyUsageList = usageList(EXT_KEY_USAGE_NAMES);

/** A serial number of a certificate, in any of its forms. */
export const serialText: FieldKind<string> = comparedBy(text, {
  form: eachText((written) => canonicaliseSerial(written.trim()) ?? written),
});

/** Bytes in hex, with or without separators between them. */
export const hexText: FieldKind<string> = comparedBy(text, { form: eachText(withoutSeparators) });

export function withoutSeparators(hex: string): string {
  return hex.replaceAll(/[:\s-]/g, '').toLowerCase();
}

/** By how much a certificate begins in the past; 0 stands for the usual time. */
export const backdating: FieldKind<number> = comparedBy(duration, {
  also: (seconds) =>
    seconds === '0' ? [USUAL_BACKDATING] : seconds === USUAL_BACKDATING ? ['0'] : [],
});
/** Backdating that applies where a role has 0. @see P-71 */
export const DEFAULT_BACKDATING = 30;
const USUAL_BACKDATING = String(DEFAULT_BACKDATING);

/** PEM: what its blocks hold, however its lines are broken and whatever stands around them. */
export const pemText: FieldKind<string> = comparedBy(longText, { form: eachText(blocksOf) });

function blocksOf(written: string): string {
  try {
    const blocks = parsePem(written);
    const texts = blocks.map(({ label, der }) => `${label} ${Buffer.from(der).toString('base64')}`);
    return blocks.length === 0 ? written : texts.join('\n');
  } catch {
    return written;
  }
}

/** In what form a private key is handed out: every word but `pkcs8` asks for the traditional one. */
export const keyFormatText: FieldKind<string> = comparedBy(text, {
  form: eachText((word) => (word === 'pkcs8' ? 'pkcs8' : 'der')),
});
