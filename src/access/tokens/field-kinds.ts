import { isIP } from 'node:net';
import { asSet, comparedBy, eachText } from '../../core/comparison.ts';
import type { FieldKind } from '../../core/field.ts';
import { modestList, text } from '../../core/fields.ts';
import { foldName } from '../../core/fold.ts';
import {
  formatIpAddress,
  formatIpRange,
  parseIpAddress,
  parseIpRange,
} from '../../x509/ip-addresses.ts';
import { displayName } from './token.ts';

/** Names of policies: their order, case and blanks say nothing. */
export const policyList: FieldKind<string[]> = comparedBy(modestList, {
  form: asSet((name) => foldName(name.trim())),
});

/** Where every IPv4 address lies among the IPv6 addresses. */
const MAPPED = { start: '::ffff:', bits: 96 };

/** The first address of a block and how many bits all of it share; IPv4 in IPv6 form is IPv4. */
function blockForm(written: string): string {
  const [base = '', length, ...more] = written.split('/');
  const bits = length === undefined ? (isIP(base) === 4 ? 32 : 128) : Number(length);
  if (more.length > 0 || !/^\d{1,3}$/.test(length ?? '0')) return written;
  const range = parseIpRange(`${base}/${bits}`);
  const block = range && formatIpRange(range);
  if (block === undefined) return written;
  if (!base.includes(':') || bits < MAPPED.bits) return block;
  const plain = parseIpAddress(block.split('/')[0] ?? '');
  return plain?.length === 4 ? `${formatIpAddress(plain)}/${bits - MAPPED.bits}` : block;
}

/** A block of IPv6 addresses may have all of IPv4 in it. */
function alsoEverything(block: string): string[] {
  const [base = '', length] = block.split('/');
  if (!base.includes(':') || !(Number(length) < MAPPED.bits)) return [];
  const mapped = parseIpRange(`${MAPPED.start}0.0.0.0/${length}`);
  return mapped && formatIpRange(mapped) === block ? ['0.0.0.0/0'] : [];
}

/** How many comparisons of texts reading one takes as long as. */
const BLOCK_COST = 24;

/** Blocks of addresses: compared by the addresses that lie in them. */
export const blockList: FieldKind<string[]> = comparedBy(modestList, {
  form: eachText(blockForm, BLOCK_COST),
  also: alsoEverything,
});

/** What a token is shown as; each character other than letters, digits and hyphens is a hyphen. */
export const displayText: FieldKind<string> = comparedBy(text, {
  form: eachText((wanted) => displayName(wanted).replace(/^token-?/, '')),
});

/** The kind of a token; the empty text leaves it open. */
export const tokenTypeText: FieldKind<string> = comparedBy(text, {
  also: (type) =>
    type === '' ? ['service', 'batch'] : type === 'service' || type === 'batch' ? [''] : [],
});
