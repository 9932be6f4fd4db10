import type { LibraryAttributes } from '../credential-libraries/library.ts';
import { LONGEST_TEXTS } from '../credential-libraries/limits.ts';
import {
  fillTemplate,
  MAX_FILLED_LENGTH,
  parseTemplate,
  SELECTORS,
  type TemplateFacts,
} from '../credential-libraries/template.ts';

/** A person's value that cannot stand where the library has it. */
export class UnfitValue extends Error {}

function fill(
  text: string,
  facts: TemplateFacts,
  encode: (value: string) => string,
  longest?: number,
): string {
  const parsed = parseTemplate(text, longest);
  // It was read when the library was saved; what was saved before there were limits may be longer.
  if (!parsed.valid) throw new UnfitValue(parsed.because);
  const filled = fillTemplate(parsed.template, facts, encode);
  if (filled === undefined) {
    throw new UnfitValue(`a template becomes more than ${MAX_FILLED_LENGTH} characters`);
  }
  return filled;
}

/** A path's values are single segments, or parts of one: none may lead elsewhere. */
export function fillPath(text: string, facts: TemplateFacts): string {
  return fill(text, facts, (value) => {
    if (value === '' || /[/\\]/.test(value) || /^\.+$/.test(value)) {
      throw new UnfitValue('a value in the path is empty, or no single segment');
    }
    return encodeURIComponent(value);
  });
}

/** A body's values stand within texts of JSON: none may end its text. */
export function fillBody(text: string, facts: TemplateFacts): string {
  const encode = (value: string): string => JSON.stringify(value).slice(1, -1);
  return fill(text, facts, encode, LONGEST_TEXTS.http_request_body);
}

/** One of several names with commas between them: no value may be more than one. */
export function fillName(text: string, facts: TemplateFacts): string {
  return fill(text, facts, (value) => {
    if (/[,\p{Cc}]/u.test(value)) throw new UnfitValue('a value in a name holds a comma');
    return value;
  });
}

/** As {@link fillName}, for a name that must be there. */
export function fillRequiredName(text: string, facts: TemplateFacts): string {
  const name = fillName(text, facts);
  if (name.trim() === '') throw new UnfitValue('a name is empty');
  return name;
}

/** What the certificate authority is asked for, but for an end that no library names. */
export function fillIssueFields(
  attributes: LibraryAttributes,
  facts: TemplateFacts,
): Record<string, string> {
  const { common_name = '', alt_names, uri_sans } = attributes;
  const { ip_sans, ttl, format, private_key_format } = attributes;
  return {
    common_name: fillName(common_name, facts),
    ...(alt_names === undefined ? {} : { alt_names: fillName(alt_names, facts) }),
    ...(ip_sans === undefined ? {} : { ip_sans }),
    ...(uri_sans === undefined ? {} : { uri_sans: fillName(uri_sans, facts) }),
    ...(ttl === undefined ? {} : { ttl }),
    ...(format === undefined ? {} : { format }),
    ...(private_key_format === undefined ? {} : { private_key_format }),
  };
}

/** Values that are not known yet, each as a template writes it: what else there is shows beside them. */
export const UNKNOWN_FACTS: TemplateFacts = Object.fromEntries(
  SELECTORS.map((selector) => [selector, `{{.${selector}}}`]),
);

/** What an SSH engine is asked for, but for the key. */
export function planSshRequest(
  attributes: LibraryAttributes,
  facts: TemplateFacts,
): { username: string; path: string; issues: boolean; body: Record<string, unknown> } {
  const { path = '', username: wanted = '', additional_valid_principals = [] } = attributes;
  const username = fillRequiredName(wanted, facts);
  const principals = additional_valid_principals.map((one) => fillRequiredName(one, facts));
  const { key_id, ttl, critical_options, extensions } = attributes;
  const fillAll = (texts: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [name, fill(text, facts, (value) => value)]),
    );
  const filled = fillPath(path, facts);
  return {
    username,
    path: filled,
    issues: /\/issue\/[^/]+$/.test(filled),
    body: {
      cert_type: 'user',
      valid_principals: [username, ...principals].join(','),
      ...(key_id === undefined ? {} : { key_id: fill(key_id, facts, (value) => value) }),
      ...(ttl === undefined ? {} : { ttl }),
      ...(critical_options === undefined ? {} : { critical_options: fillAll(critical_options) }),
      ...(extensions === undefined ? {} : { extensions: fillAll(extensions) }),
    },
  };
}
