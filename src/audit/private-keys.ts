import { Reader } from './escaped-text.ts';
import { type Hashes, Told } from './told.ts';

/**
 * Where a private key begins and where it ends, in PEM (RFC 7468), in OpenPGP's armour (RFC 9580 §6.2) and in the form
 * that programs for SSH have beside them; blanks also as URLs have them.
 */
const BEGINNINGS =
  /-{4,5}(?:[ +]|%(?:25){0,4}20)?BEGIN(?:[ +]|%(?:25){0,4}20)(?:[A-Z0-9]|(?:[ +]|%(?:25){0,4}20)){0,40}PRIVATE(?:[ +]|%(?:25){0,4}20)KEY(?:(?:[ +]|%(?:25){0,4}20)BLOCK)?(?:[ +]|%(?:25){0,4}20)?-{4,5}/g;
const END =
  /-{4,5}(?:[ +]|%(?:25){0,4}20)?END(?:[ +]|%(?:25){0,4}20)(?:[A-Z0-9]|(?:[ +]|%(?:25){0,4}20)){0,40}PRIVATE(?:[ +]|%(?:25){0,4}20)KEY(?:(?:[ +]|%(?:25){0,4}20)BLOCK)?(?:[ +]|%(?:25){0,4}20)?-{4,5}/y;
/** What each beginning has. */
const MARK = 'BEGIN';

/** Fewer letters of base64 are no key, and a line of a list that has fewer is no line of one. */
const LEAST = 24;
/** So many lines are header lines at most. */
const MOST_LINES = 1000;

/** The name of a header line; more is said there of a key, in the clear. */
const HEADER = /[A-Za-z][\w .-]{0,63}:/y;
/** Letters of base64, with line ends and blanks wherever they like. */
interface Body {
  from: number;
  end: number;
  letters: string;
  /** Where the line begins that the reader has come to. */
  line: number;
}

/** What of a key is hashed: its letters alone, so that the hash is one for a key however it was sent, or also what stands between them. */
type Hashed = 'letters' | 'as-sent';

/**
 * A record's text with a hash in the place of each private key's letters: bundles that begin with one are sent where
 * chains are wanted. What no key has is told, or the words before a key would hide what comes after them: header
 * lines, too, and names, and the words at its end.
 *
 * @param json a record
 */
export function concealPrivateKeys(json: string, hashes: Hashes, hashed: Hashed): string {
  if (!json.includes(MARK)) return json;
  const told = new Told(json, hashes);
  for (const reader of readersOf(json)) {
    for (const { from, end, letters } of bodiesOf(reader)) {
      told.hide(from, end, hashed === 'letters' ? letters : json.slice(from, end));
    }
  }
  return told.whole();
}

/** Whether something of a JSON text would be concealed as a private key. */
export function holdsPrivateKey(json: string): boolean {
  for (const reader of readersOf(json)) {
    if (!bodiesOf(reader).next().done) return true;
  }
  return false;
}

/** One for each of the words that say that a key begins, after them. */
function* readersOf(json: string): Generator<Reader> {
  if (!json.includes(MARK)) return;
  const beginnings = [...json.matchAll(BEGINNINGS)];
  for (const [at, { 0: words, index }] of beginnings.entries()) {
    // Nothing is read twice, however many beginnings there are.
    const end = beginnings[at + 1]?.index ?? json.length;
    yield new Reader(json, index + words.length, end);
  }
}

/** What is hidden after the words that say that a key begins. */
function* bodiesOf(reader: Reader): Generator<Body> {
  const from = reader.at;
  const found = findBody(reader);
  if (!found) return;
  const { body, isFirst } = found;
  yield isFirst ? { ...body, from } : body;
  let line: Body | undefined = body;
  while (line && !reader.isAt(END)) {
    line = toItem(reader) ? readItem(reader) : undefined;
    if (line) yield line;
  }
}

/** What comes after header lines, if it may be a key, and whether there are none. */
function findBody(reader: Reader): { body: Body; isFirst: boolean } | undefined {
  let [isFirst, isList, hasHeader] = [true, false, false];
  for (let line = 0; line < MOST_LINES; line += 1) {
    const body = readBody(reader);
    if (body.letters.length >= LEAST && (!isList || isItemEnd(reader))) return { body, isFirst };
    isFirst = false;
    const isEnd = body.letters === '' && isLineEnd(reader, isList);
    if (body.letters === '' && toItem(reader)) {
      isList = true;
      continue;
    }
    if (isEnd) return undefined;
    reader.go(body.line);
    // A header line that goes on begins with a blank, and has items of its own where lines are items.
    const goesOn = hasHeader && (isList || reader.is('blank'));
    reader.skip('blank');
    if (!reader.match(HEADER) && !goesOn) return undefined;
    hasHeader = true;
    while (!isLineEnd(reader, isList)) reader.step();
  }
  return undefined;
}

/** Letters from here on, as many as there are with nothing but blanks and line ends between. */
function readBody(reader: Reader): Body {
  const parts: string[] = [];
  const body: Body = { from: reader.at, end: reader.at, letters: '', line: reader.at };
  for (;;) {
    switch (reader.kind) {
      case 'letter':
        if (parts.length === 0) body.from = reader.at;
        parts.push(reader.takeLetters());
        body.end = reader.at;
        break;
      case 'line':
        reader.step();
        body.line = reader.at;
        break;
      case 'blank':
        reader.step();
        break;
      default:
        body.letters = parts.join('');
        return body;
    }
  }
}

/** Whether another item of a list comes, which may be a text of its own; the reader is in it then. */
function toItem(reader: Reader): boolean {
  const isQuoted = reader.is('quote');
  if (isQuoted) reader.step();
  reader.skip('blank', 'line');
  if (!reader.is('comma')) return false;
  reader.step();
  reader.skip('blank', 'line');
  if (!isQuoted) return true;
  if (!reader.is('quote')) return false;
  reader.step();
  return true;
}

/** A further line of a key: one that is long enough for it, or the last one. */
function readItem(reader: Reader): Body | undefined {
  const body = readBody(reader);
  if (body.letters === '' || !isItemEnd(reader)) return undefined;
  if (body.letters.length >= LEAST || reader.isAt(END)) return body;
  const { at } = reader;
  const isLast = toItem(reader) && reader.isAt(END);
  reader.go(at);
  return isLast ? body : undefined;
}

/** Whether a list's item ends here. What has a colon after it is a member's name. */
function isItemEnd(reader: Reader): boolean {
  return reader.is('comma') || reader.isAt(END) || (reader.is('quote') && !reader.isName());
}

/** Whether a header line ends here: a quote may be part of it, but not the end of its text. */
function isLineEnd(reader: Reader, isList: boolean): boolean {
  if (reader.is('quote')) return reader.next === reader.at + 1;
  return reader.is('line', 'none') || (isList && reader.is('comma'));
}
