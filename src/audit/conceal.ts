import { concealPrivateKeys } from './private-keys.ts';
import { Hashes, Told } from './told.ts';

/**
 * What is a token by its form, wherever it stands in a record's JSON text: people send tokens in the
 * place of names, accessors, lease ids and whatever else is recorded as it came.
 *
 * A token of the broker's API has its id, which is no secret, before its hash; names may have that form, too.
 * Forms of old are as short as names are: they count where a text or a segment of a path begins with them and has nothing after them. What
 * authorizes a session has no form but its alphabet and its length, which nothing else has.
 */
const FORMS =
  /hv[sbr]\.[\w-]{20,}|r_1[1-9A-HJ-NP-Za-km-z]{60,}|neslat_[1-9A-HJ-NP-Za-km-z]{60,}|(?<![0-9A-Za-z])[1-9A-HJ-NP-Za-km-z]{200,}|(at_[A-Za-z0-9]{10,40})_s1[A-Za-z0-9]{8,}|[sbr]\.(?<=["/][sbr]\.)[A-Za-z0-9]{24,}(?=["/:?])/g;

/**
 * As {@link FORMS}, of any length: a refusal's words repeat the beginning of a long text, which may end within a token.
 * Forms of old count wherever they begin, as words go on after what they repeat.
 */
const CUT_FORMS =
  /hv[sbr]\.[\w-]+|neslat_[1-9A-HJ-NP-Za-km-z]+|(at_[A-Za-z0-9]{10,40})_s1[A-Za-z0-9]+|(?<![\w.])[sbr]\.[A-Za-z0-9]{24,}/g;

/** Each form but the one without marks has one of these. */
const MARKS = /hv[sbr]\.|r_1|neslat_|_s1|["/][sbr]\./;
/** The shortest text that is a token by its alphabet and length alone. */
const LONG = 200;

/**
 * A name with a password in a URL, as they stand in JSON; of the web either alone, which may be a token.
 * No blanks, quotes or commas: a whole policy or list of names would fit in between.
 */
const URL_PASSWORDS = /(?<=https?):\/\/[^\s"\\/?#,]+@|:\/\/[^\s"\\/?#,@:]*:[^\s"\\/?#,]*@/gi;

/** Where something is, or a list of that: of a server there is neither a user nor a question to it. */
const ADDRESSES = /"address":(?:"(?:[^"\\]|\\.)*"|\[(?:[[\],]|"(?:[^"\\]|\\.)*"(?!:))*)/g;
const ADDRESS = '"address":';
const TEXTS = /"((?:[^"\\]|\\.)*)"/g;

/**
 * Of the record of a change: a hash in the place of each token and private key, and nothing is left out without one.
 * Users in URLs are names there; passwords in them are stored as they are told.
 *
 * @param onPrivateKey called where something is hidden as a private key, before anything else is done
 */
export function concealDone(
  json: string,
  hash: (token: string) => string,
  onPrivateKey: () => void = () => {},
): string {
  const hashes = new Hashes(hash);
  const told = concealPrivateKeys(json, hashes, 'as-sent');
  if (told !== json) onPrivateKey();
  return concealTokens(told, hash, hashes);
}

/**
 * As {@link concealTokens}; of private keys in PEM the hash of their letters, and of URLs and
 * addresses that of what is there to be let in.
 */
export function concealSecrets(json: string, hash: (token: string) => string): string {
  const hashes = new Hashes(hash);
  let told = concealPrivateKeys(json, hashes, 'letters');
  if (told.includes('@')) told = concealUrls(told, hashes);
  if (told.includes(ADDRESS)) told = concealAddresses(told, hashes);
  return concealTokens(told, hash, hashes);
}

function concealUrls(json: string, hashes: Hashes): string {
  const told = new Told(json, hashes);
  for (const { 0: found, index } of json.matchAll(URL_PASSWORDS)) {
    const from = index + '://'.length;
    const end = index + found.length - '@'.length;
    told.hide(from, end, json.slice(from, end));
  }
  return told.whole();
}

function concealAddresses(json: string, hashes: Hashes): string {
  const told = new Told(json, hashes);
  for (const { 0: member, index } of json.matchAll(ADDRESSES)) {
    const from = index + ADDRESS.length;
    for (const { 1: text = '', index: at } of member.slice(ADDRESS.length).matchAll(TEXTS)) {
      concealAddress(told, from + at + '"'.length, text);
    }
  }
  return told.whole();
}

/** @param text as JSON has it */
function concealAddress(told: Told, from: number, text: string): void {
  // Of a file: a socket's.
  if (text.startsWith('/')) return;
  const host = text.lastIndexOf('@');
  if (host > 0) told.hide(from, from + host, unescaped(text.slice(0, host)));
  const mark = host + 1 + text.slice(host + 1).search(/[?#]|$/);
  if (mark + 1 < text.length) {
    told.hide(from + mark + 1, from + text.length, unescaped(text.slice(mark + 1)));
  }
}

/** As it was sent, so that it is found by its hash. */
const unescaped = (text: string): string => String(JSON.parse(`"${text}"`));

/** A refusal's words with a hash in the place of each token and of each beginning of one. */
export function concealCut(words: string, hash: (token: string) => string): string {
  const told = new Told(words, new Hashes(hash));
  hideTokens(told, words, CUT_FORMS);
  return told.whole();
}

/**
 * A record's text with a hash in the place of each token.
 *
 * @param json a record; its texts have no token across an escape, since tokens need none
 * @param hash of a token, as it is to stand in the record; free of what JSON escapes
 * @param hashes that the record has already
 */
export function concealTokens(
  json: string,
  hash: (token: string) => string,
  hashes: Hashes = new Hashes(hash),
): string {
  // Most records have none. To see that by the forms alone takes ten times as long.
  if (!MARKS.test(json) && !hasLongRun(json)) return json;
  const told = new Told(json, hashes);
  hideTokens(told, json, FORMS);
  return told.whole();
}

function hideTokens(told: Told, text: string, forms: RegExp): void {
  for (const { 0: token, 1: id, index } of text.matchAll(forms)) {
    const end = index + token.length;
    told.hide(id === undefined ? index : index + id.length + '_'.length, end, token);
  }
}

/** Whether there are as many letters and digits in a row. Such a run covers one of the places looked at. */
function hasLongRun(text: string): boolean {
  for (let at = LONG - 1; at < text.length; at += LONG) {
    if (!isAlphanumeric(text.charCodeAt(at))) continue;
    let from = at;
    while (at - from < LONG && isAlphanumeric(text.charCodeAt(from - 1))) from -= 1;
    let end = at + 1;
    while (end - from < LONG && isAlphanumeric(text.charCodeAt(end))) end += 1;
    if (end - from >= LONG) return true;
  }
  return false;
}

/** @param code of a UTF-16 unit; NaN: there is none */
const isAlphanumeric = (code: number): boolean =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122);

/**
 * A path with hashes in the place of some of its parameters.
 *
 * @param path without `/v1/`, e.g. `auth/people/login/ann`
 * @param template e.g. `/v1/auth/{mount}/login/{username}`; a mount may have slashes, so that the two
 *   are laid side by side from their ends
 */
export function concealSegments(
  path: string,
  template: string,
  names: readonly string[],
  hash: (text: string) => string,
): string {
  const declared = template.split('/').reverse();
  const after = declared.indexOf('{mount}');
  const segments = path.split('/').reverse();
  for (const [at, name] of declared.slice(0, after < 0 ? undefined : after).entries()) {
    const segment = segments[at];
    if (segment && names.includes(name.slice(1, -1))) segments[at] = hash(segment);
  }
  return segments.reverse().join('/');
}
