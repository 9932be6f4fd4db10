import { concealPrivateKeys } from './private-keys.ts';
import { Hashes, Told, UNTOLD } from './told.ts';

/**
 * What is a token by its form, wherever it stands in a record's JSON text: people send tokens in the
 * place of names, accessors, lease ids and whatever else is recorded as it came.
 *
 * A token of the broker's API is told by its id, which is no secret. Forms of old are as short as names
 * are: they count where a text or a segment of a path begins with them and has nothing after them. What
 * authorizes a session has no form but its alphabet and its length, which nothing else has.
 */
const FORMS =
  /hv[sbr]\.[\w-]{20,}|r_1[1-9A-HJ-NP-Za-km-z]{60,}|(?<![0-9A-Za-z])[1-9A-HJ-NP-Za-km-z]{200,}|(at_[A-Za-z0-9]{10,40})_s1[A-Za-z0-9]{8,}|[sbr]\.(?<=["/][sbr]\.)[A-Za-z0-9]{24,}(?=["/:?])/g;

/** Each form but the one without marks has one of these. */
const MARKS = /hv[sbr]\.|r_1|_s1|["/][sbr]\./;
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
 */
export function concealDone(json: string, hash: (token: string) => string): string {
  const hashes = new Hashes(hash);
  return concealTokens(concealPrivateKeys(json, hashes), hash, hashes);
}

/**
 * As {@link concealTokens}; of private keys in PEM the hash of their letters, and of URLs and
 * addresses not what is there to be let in.
 */
export function concealSecrets(json: string, hash: (token: string) => string): string {
  const hashes = new Hashes(hash);
  let told = concealPrivateKeys(json, hashes);
  if (told.includes('@')) told = told.replace(URL_PASSWORDS, `://${UNTOLD}@`);
  if (told.includes(ADDRESS)) told = told.replace(ADDRESSES, concealAddresses);
  return concealTokens(told, hash, hashes);
}

function concealAddresses(member: string): string {
  const texts = member.slice(ADDRESS.length);
  return ADDRESS + texts.replace(TEXTS, (_, text: string) => `"${concealAddress(text)}"`);
}

/** @param text as JSON has it */
function concealAddress(text: string): string {
  // Of a file: a socket's.
  if (text.startsWith('/')) return text;
  const host = text.lastIndexOf('@');
  const reached = host < 0 ? text : UNTOLD + text.slice(host);
  const [from = reached] = reached.split(/[?#]/, 1);
  return from === reached ? reached : reached.slice(0, from.length + 1) + UNTOLD;
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
  for (const { 0: token, 1: id, index } of json.matchAll(FORMS)) {
    const end = index + token.length;
    if (id === undefined) told.hide(index, end, token);
    else told.put(index, end, `${id}_${UNTOLD}`);
  }
  return told.whole();
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
