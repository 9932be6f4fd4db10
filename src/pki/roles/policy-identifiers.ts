import { z } from 'zod';
import { comparedBy, eachText } from '../../core/comparison.ts';
import { type Failure, invalid } from '../../core/failure.ts';
import { fieldKind } from '../../core/field-kind.ts';
import { parseJsonText } from '../../core/json-text.ts';
import { mayHaveUser } from '../../core/place.ts';
import { type CertificatePolicy, certificatePolicies } from '../../x509/certificate-policies.ts';
import { isOid } from '../../x509/der.ts';
import type { Extension } from '../../x509/extensions.ts';

/** How many comparisons of texts reading one takes as long as. */
const COST = 16;

/**
 * A list of policies, each an object identifier or, with qualifiers, the JSON text of an object
 * such as `{"oid":"1.2.3","cps":"https://ca.test/cps"}`. Sent as a list, as a comma list of
 * object identifiers, or as one JSON text of an array of such objects.
 *
 * @see P-23
 */
export const policyIdentifierList = comparedBy(
  fieldKind<string[]>({
    accepts:
      'a list of at most 1000 object identifiers, or a JSON list of objects with "oid" and "cps" or "notice"',
    convert: convertPolicies,
    output: z.array(z.string()),
  }),
  { form: eachText(policyForm, COST), also: identifierOf },
);

/** A policy without qualifiers is its identifier; one with them has one order of its members. */
function policyForm(written: string): string {
  try {
    const { oid, cps, notice } = parsePolicy(written);
    return cps === undefined && notice === undefined ? oid : JSON.stringify({ oid, cps, notice });
  } catch {
    return written;
  }
}

/** Whoever may not name a policy may not name it with qualifiers either. */
function identifierOf(form: string): string[] {
  if (!form.startsWith('{')) return [];
  try {
    return [parsePolicy(form).oid];
  } catch {
    return [];
  }
}

/** More than any certificate states. */
const MAX_POLICIES = 1000;

/** Each has three members at most. */
const POLICIES_TEXT = { maxDepth: 2, maxValues: 4 * MAX_POLICIES, maxMembers: 3 * MAX_POLICIES };

function convertPolicies(value: unknown): string[] | undefined {
  if (Array.isArray(value)) {
    if (value.length > MAX_POLICIES) return undefined;
    const items: string[] = [];
    for (const item of value) {
      const converted = convertPolicy(item);
      if (converted === undefined) return undefined;
      items.push(converted);
    }
    return items;
  }
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (text === '') return [];
  if (text.startsWith('{')) return [text];
  if (!text.startsWith('[')) {
    const items = text.split(',', MAX_POLICIES + 1);
    return items.length > MAX_POLICIES ? undefined : items.map((item) => item.trim());
  }
  const parsed = parseJsonText(text, POLICIES_TEXT);
  return Array.isArray(parsed) ? convertPolicies(parsed) : undefined;
}

function convertPolicy(item: unknown): string | undefined {
  if (typeof item === 'string') return item.trim();
  if (typeof item === 'object' && item !== null && !Array.isArray(item)) {
    return JSON.stringify(item);
  }
  return undefined;
}

/** Reads stored policies. @throws Failure `invalid` for what is no object identifier */
export function parsePolicyIdentifiers(stored: readonly string[]): CertificatePolicy[] {
  return stored.map(parsePolicy);
}

/**
 * The extension with stored policies; undefined for none.
 *
 * @throws Failure `invalid` for what is no object identifier or has a qualifier that no
 *   certificate can carry
 */
export function encodePolicyIdentifiers(stored: readonly string[]): Extension | undefined {
  return certificatePolicies(parsePolicyIdentifiers(stored));
}

function parsePolicy(text: string): CertificatePolicy {
  if (!text.startsWith('{')) return { oid: checkOid(text) };
  const parsed = parseJsonText(text, POLICIES_TEXT);
  if (typeof parsed !== 'object' || parsed === null) throw refuse(`${quote(text)} is no JSON`);
  const policy: CertificatePolicy = { oid: '' };
  for (const [name, value] of Object.entries(parsed)) {
    if (name !== 'oid' && name !== 'cps' && name !== 'notice') {
      throw refuse(`${quote(name)} is not a part of a policy: "oid", "cps" and "notice" are`);
    }
    if (typeof value !== 'string') throw refuse(`"${name}" is a string`);
    if (value !== '') policy[name] = value.trim();
  }
  checkOid(policy.oid);
  return policy;
}

function checkOid(text: string): string {
  if (!isOid(text)) throw refuse(`${quote(text)} is no object identifier`);
  return text;
}

function refuse(because: string): Failure {
  return invalid(`could not parse policy_identifiers: ${because}`, {
    fields: { policy_identifiers: because },
  });
}

function quote(text: string): string {
  // What may let somebody in is not repeated.
  if (mayHaveUser(text)) return 'one of them';
  return JSON.stringify(text.slice(0, 64));
}
