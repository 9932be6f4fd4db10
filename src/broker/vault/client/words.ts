import { findObject } from './answer.ts';
import { readValue } from './made.ts';
import { repeats, type Sent } from './repeated.ts';

/** Bytes of a refusal: what it says first is told, and what comes later is not waited for. */
export const REFUSAL = 8_192;
/** So much of what it says is looked at, and so much of that told. */
const MOST_SCANNED = 4_096;
const TOLD = 300;

/** Parts of names may be joined. */
const LETTERS = /^[a-z]+(?:[._-][a-z]+)*(?:n't)?$/i;
const LONGEST_WORD = 40;
/** Numbers and versions, and addresses of IPv4 with their ports. */
const NUMBER = /^v?\d{1,10}(?:\.\d{1,5}){0,3}(?::\d{1,5})?$/;
/** Names with more than letters that servers speak of. */
const NAMES = new Set(
  'x509 oauth2 http2 base64 sha256 pkcs8 ec2 s3 k8s i/o and/or * - …'.split(' '),
);
/** Of Vault's tokens. */
const TOKEN = /^(?:hv[sbr]|[sbr])\./i;
/** What has a value after it that may be a secret. */
const NAME_OF_SECRET =
  /(?:pass(?:word|wd|phrase|code)?|pwd?|secret|token|key|creds?|credentials?|auth|pin|otp|user|name|login|dsn|ur[il])\)?:$/i;
/** After these a word is told only where it is one of the next. */
const PASSWORD = /^(?:pass(?:word|wd|phrase|code)?|pwd?)$/i;
const OF_PASSWORDS = new Set(
  `and authentication authorization cannot check did does expired failed field hash in invalid length may must needs not or
  parameter plugin policy required rotation`.split(/\s+/),
);

/**
 * The words of a refusal's `errors`, as far as they may be told to whoever may ask. Engines quote how they reach
 * something, in more forms than anybody lists: so each error is told up to the first word that is not one of plain
 * language, and what may be quoted is never looked into.
 *
 * @param secrets what was sent, and stands in no message
 * @param sent what was sent besides, of which no part is told either
 */
export function describeRefusal(
  text: string,
  secrets: readonly string[] = [],
  sent: Sent = new Set(),
): string {
  const told: string[] = [];
  let left = MOST_SCANNED;
  for (const error of findErrors(text.slice(0, REFUSAL))) {
    if (left <= 0) break;
    if (typeof error !== 'string') continue;
    const words = plainWordsOf(hide(error, secrets).slice(0, left), sent);
    left -= error.length + 1;
    if (words !== '') told.push(words);
  }
  return told.join('; ').slice(0, TOLD);
}

/** The beginning of the list of errors, which Vault servers say first. */
const ERRORS = /^\s*\{\s*"errors"\s*:\s*\[/;
/** One of its texts, at its place. */
const TEXT = /\s*("(?:[^"\\]|\\.)*")\s*[,\]]/y;

/** All errors of a whole refusal; of one that goes on, those that are there whole, and a mark. */
function findErrors(text: string): readonly unknown[] {
  const whole = findObject(text);
  if (whole) return Array.isArray(whole.errors) ? whole.errors : [];
  const start = ERRORS.exec(text);
  if (!start) return [];
  const errors: unknown[] = [];
  // What does not match puts it back to 0.
  TEXT.lastIndex = start[0].length;
  for (let found = TEXT.exec(text); found; found = TEXT.exec(text)) {
    errors.push(readValue(found[1] ?? ''));
  }
  return [...errors, '…'];
}

const hide = (text: string, secrets: readonly string[]): string =>
  secrets
    .filter((secret) => secret !== '')
    .reduce((all, secret) => all.replaceAll(secret, '…'), text);

const BETWEEN_WORDS = /[\s\p{Cc}\p{Cf}]+/u;

function plainWordsOf(text: string, sent: Sent): string {
  const told: string[] = [];
  for (const word of text.split(BETWEEN_WORDS)) {
    if (word === '') continue;
    const before = told.at(-1) ?? '';
    const mayBeTold = isPlain(word) && !repeats(sent, word);
    if (!mayBeTold || NAME_OF_SECRET.test(before) || !mayFollow(before, word)) {
      return [...told, '…'].join(' ');
    }
    told.push(word);
  }
  return told.join(' ');
}

function isPlain(word: string): boolean {
  const bare = bareOf(word);
  if (bare.length > LONGEST_WORD || TOKEN.test(bare)) return false;
  return LETTERS.test(bare) || NUMBER.test(bare) || NAMES.has(bare.toLowerCase());
}

const mayFollow = (before: string, word: string): boolean =>
  !PASSWORD.test(before) || OF_PASSWORDS.has(bareOf(word).toLowerCase());

/** Without the marks of a sentence. */
const bareOf = (word: string): string => word.replace(/^\(/, '').replace(/[.,;:!?)]{1,3}$/, '');
