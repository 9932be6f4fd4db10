import type { LibraryAttributes } from '../credential-libraries/library.ts';
import { LONGEST_TEXTS } from '../credential-libraries/limits.ts';
import {
  fillTemplate,
  MAX_FILLED_LENGTH,
  parseTemplate,
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
