import {
  isHostPart,
  isUriPart,
  isWholeCommonName,
  isWholeName,
  isWholeUri,
  isWord,
} from '../../../core/template-values.ts';
import type { LibraryAttributes } from './library.ts';
import { LONGEST_TEXTS } from './limits.ts';
import {
  type Encode,
  fillTemplate,
  MAX_FILLED_LENGTH,
  type Place,
  parseTemplate,
  SELECTORS,
  type TemplateFacts,
} from './template.ts';

/** A person's value that cannot stand where the library has it. */
export class UnfitValue extends Error {}

/** Longest text, and most characters that it becomes; as long as others unless told. */
interface Lengths {
  text?: number | undefined;
  filled?: number;
}

function fill(
  text: string,
  facts: TemplateFacts,
  encode: Encode,
  { text: longest, filled: most = MAX_FILLED_LENGTH }: Lengths = {},
): string {
  const parsed = parseTemplate(text, longest);
  // It was read when the library was saved; what was saved before there were limits may be longer.
  if (!parsed.valid) throw new UnfitValue(parsed.because);
  const filled = fillTemplate(parsed.template, facts, encode, most);
  if (filled === undefined) {
    throw new UnfitValue(`a template becomes more than ${most} characters`);
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

/**
 * A body's values stand within texts of JSON, where none may end its text; elsewhere they are a
 * number, `true`, `false` or `null`.
 */
export function fillBody(text: string, facts: TemplateFacts): string {
  const position = new JsonPosition();
  const encode: Encode = (value, { added }) => {
    const state = position.moveOver(added);
    if (state === 'text') return JSON.stringify(value).slice(1, -1);
    if (state === 'between' && JSON_WORD.test(value)) return value;
    throw new UnfitValue('a value in the body stands in no text, and is none of its own');
  };
  return fill(text, facts, encode, { text: LONGEST_TEXTS.http_request_body });
}

const JSON_WORD = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?)$/;

/** Follows a text of JSON as it grows, to tell whether its end lies within one of its texts. */
class JsonPosition {
  #isInText = false;
  #isEscaped = false;

  moveOver(added: string): 'text' | 'between' | 'escape' {
    for (const letter of added) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (letter === '\\') this.#isEscaped = this.#isInText;
      else if (letter === '"') this.#isInText = !this.#isInText;
    }
    if (this.#isEscaped) return 'escape';
    return this.#isInText ? 'text' : 'between';
  }
}

/** Says whether a value may be part of a name, or all of it. */
interface Fit {
  part(value: string, before: string): boolean;
  whole(value: string): boolean;
}

const COMMON_NAME: Fit = { part: isHostPart, whole: isWholeCommonName };
const ALT_NAME: Fit = { part: isHostPart, whole: isWholeName };
const URI: Fit = { part: isUriPart, whole: isWholeUri };
const SSH: Fit = { part: isWord, whole: isWord };

/**
 * One of several names with commas between them: no value may be more than one, or make another
 * name of what stands around it. One that somebody lacks is left out.
 */
function fillName(text: string, facts: TemplateFacts, fit: Fit): string {
  const position = new ListPosition();
  const encode: Encode = (value, place) => {
    if (facts === UNKNOWN_FACTS) return value;
    const { before, isWhole } = position.moveOver(place);
    if (value === '' || (isWhole ? fit.whole(value) : fit.part(value, before))) return value;
    throw new UnfitValue('a value in a name has characters that cannot stand there');
  };
  return fill(text, facts, encode, { filled: MOST_NAMES });
}

/** Characters of names with commas between them once they are filled in, and of one of them up to its last value. */
const MOST_NAMES = 16_384;
const LONGEST_NAME = 4_096;

/** Follows names with commas between them as they grow, to tell where in one of them a value stands. */
class ListPosition {
  #own = '';

  moveOver({ added, after }: Place): { before: string; isWhole: boolean } {
    const comma = added.lastIndexOf(',');
    this.#own = comma < 0 ? this.#own + added : added.slice(comma + 1);
    if (this.#own.length > LONGEST_NAME) {
      throw new UnfitValue(`a name becomes more than ${LONGEST_NAME} characters`);
    }
    const before = this.#own.trimStart();
    const rest = after?.trimStart();
    const isWhole = before === '' && (rest === '' || rest?.startsWith(',') === true);
    return { before, isWhole };
  }
}

/** A name that must be there. */
function fillRequiredName(text: string, facts: TemplateFacts): string {
  const name = fillName(text, facts, SSH);
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
    common_name: fillName(common_name, facts, COMMON_NAME),
    ...(alt_names === undefined ? {} : { alt_names: fillName(alt_names, facts, ALT_NAME) }),
    ...(ip_sans === undefined ? {} : { ip_sans }),
    ...(uri_sans === undefined ? {} : { uri_sans: fillName(uri_sans, facts, URI) }),
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
      Object.entries(texts).map(([name, text]) => [name, fillName(text, facts, SSH)]),
    );
  const filled = fillPath(path, facts);
  return {
    username,
    path: filled,
    issues: /\/issue\/[^/]+$/.test(filled),
    body: {
      cert_type: 'user',
      valid_principals: [username, ...principals].join(','),
      ...(key_id === undefined ? {} : { key_id: fillName(key_id, facts, SSH) }),
      ...(ttl === undefined ? {} : { ttl }),
      ...(critical_options === undefined ? {} : { critical_options: fillAll(critical_options) }),
      ...(extensions === undefined ? {} : { extensions: fillAll(extensions) }),
    },
  };
}
