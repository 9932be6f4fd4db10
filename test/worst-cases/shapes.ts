/** Texts, lists and maps that readers are slow with: from each of them as much as there is room for. */

/** A value for a field of a body, a query, a path or a header. */
export interface Shape {
  name: string;
  /** @param room bytes that the value may take as JSON */
  make(room: number): unknown;
}

/** What is said over and over: single characters, pairs that alternate, and words of the readers. */
const UNITS: readonly string[] = [
  'a', 'A', '0', '1', ' ', '\\', '"', "'", '`', ',', '.', '*', '?', '+', '-', '(', ')', '[', '{', '}',
  '<', '=', ';', ':', '/', '%', '$', '^', '|', '&', '#', '@', '_', '~', '\n', '\t', '\u0000', '\u007f',
  'é', 'ß', '😀', 'e\u0301', '\u202e',
  'ab', 'aA', '1a', '*a', 'a*', '?a', '+/', '/+', '([', '{}', '[]', '()', '{[', '"\\', '\\"', "'\"", '``',
  'a,', ',a', ', ', 'a,b,', 'a=b,', 'a=,', '=,', 'a;', 'a:', 'a/', 'a.', '.a', '..', './', '../', '//', 'a|b',
  '1.', '1,', '1:', '1-', '0x', '1e', '1h', '1h1m1s', '1ns', '00:', '::', '1.2.3.4,', '10.0.0.0/8,', 'fe80::1,',
  '(a+)+', '(a|a)*', '[a-z]*', 'a{1000}', '.*', 'not ', 'any a as b { ', '"/item/name" == "a" or ',
  '{{', '}}', '{{{', '{{}}', '{{a', '{{identity.entity.id}}', '{{identity.entity.name}}.', '{{.User.Name}}', '{{coalesce `a` ',
  'path "a" { capabilities = ["read"] }\n', 'path "a" {\n', 'path "+/', '/* ', '*/', '// ', '# a\n', '<<E\nE\n', '\\u0041',
  'a@b.c,', '*.a,', 'a.b.', 'xn--a.', 'http://a/,', 'URI:a,', '1.2.3.4;UTF8:a,', '1.2;utf8:*,', 'CN=a,', '2.5.29.',
  '-----BEGIN CERTIFICATE-----\n', '-----BEGIN ', '-----', '-----END CERTIFICATE-----\n', 'MIIB', 'MIIB\n', '0\u0080',
  '-----BEGIN A-----\nAAAA\n-----END A-----\n', 'ids=*;type=*;actions=*;', 'ids=a,', 'a_b', 'hvs.', 'at_', '=?', 'aGVsbG8.',
]; // biome-ignore format: one table

/** What stands around it: how a reader begins to read, and what makes the whole thing wrong at its end. */
const FRAMES: readonly (readonly [before: string, after: string])[] = [
  ['', ''],
  ['', '!'],
  ['', '\n'],
  ['a', '"'],
  ['"', '"'],
  ['{{', '}}'],
  ['[', ']'],
  ['["', '"]'],
  ['{"a":"', '"}'],
  ['-----BEGIN CERTIFICATE-----\n', '\n-----END CERTIFICATE-----\n'],
  ['path "', '" { capabilities = ["read"] }'],
  ['a.', '.example.com'],
  ['/', '$'],
];

/** Bytes of a text within JSON, without its quotes. */
const written = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;

function repeat(unit: string, before: string, after: string, room: number): string {
  const times = Math.floor((room - written(before) - written(after) - 2) / written(unit));
  return before + unit.repeat(Math.max(0, times)) + after;
}

const shown = (text: string): string => JSON.stringify(text.slice(0, 24));

/** Every unit in the plain frame, and in another one or all of them. */
export function textShapes(frames: 'some' | 'all'): Shape[] {
  const repeated = UNITS.flatMap((unit, at) => {
    const others = FRAMES.slice(1);
    const chosen = frames === 'all' ? others : [others[at % others.length] ?? FRAMES[1]];
    return [FRAMES[0], ...chosen].flatMap((frame) => {
      if (!frame) return [];
      const [before, after] = frame;
      const name = `${shown(unit)} between ${shown(before)} and ${shown(after)}`;
      return [{ name, make: (room: number) => repeat(unit, before, after, room) }];
    });
  });
  return [...repeated, ...longShapes];
}

/** A combining mark of each of some classes, falling: to put them into order takes a step for each pair. */
const FALLING =
  '\u035d\u035c\u0315\u0300\u059a\u0316\u031b\u0321\u0711\u0670\u0652\u0651\u0650\u064f\u064e\u064d\u064c\u064b\u05c2\u05c1\u05bf\u05bc\u05bb\u05b9\u0334';

/** So many characters of them, each as often as any, the highest class first. */
function fallingMarks(count: number): string {
  const each = Math.ceil(count / FALLING.length);
  const all = Array.from(FALLING, (mark) => mark.repeat(each)).join('');
  return all.slice(0, count);
}

/** Kanji that differ, the last first. */
const kanji = (count: number): string =>
  Array.from({ length: count }, (_, at) => String.fromCharCode(0x9f00 - (at % 20_000))).join('');

/** Texts of which no part comes twice, as much of them as there is room for. */
const LONG_TEXTS: readonly (readonly [name: string, make: (count: number) => string])[] = [
  ['marks in falling classes', (count) => fallingMarks(count)],
  ['kanji that differ', (count) => kanji(count)],
  ['a URL of marks', (count) => `http://${fallingMarks(count)}/`],
  ['a URL of kanji', (count) => `http://${kanji(count)}/`],
  ['a mailbox of marks', (count) => `a@${fallingMarks(count)}`],
  [
    'names of marks',
    (count) => `${fallingMarks(1_000)},`.repeat(count / 1_000 + 1).slice(0, count),
  ],
  ['names of kanji', (count) => `${kanji(1_000)},`.repeat(count / 1_000 + 1).slice(0, count)],
];

/** A character of theirs takes three bytes at the most. */
const longShapes: readonly Shape[] = LONG_TEXTS.map(([name, make]) => ({
  name,
  make: (room) => make(Math.max(0, Math.floor((room - 16) / 3))),
}));

/** Values as text of JSON, which some fields take in their place: much more in number than a body may have itself. */
const JSON_TEXTS: readonly [
  name: string,
  before: string,
  each: (at: number) => string,
  after: string,
][] = [
  ['members that differ', '[{', (at) => `"${at.toString(36)}":"",`, '"a":1}]'],
  ['members of a map', '{', (at) => `"${at.toString(36)}":"",`, '"-":1}'],
  ['the same member', '{', () => '"a":1,', '"a":1}'],
  ['objects', '[', (at) => `{"a${at % 10}":1},`, '{}]'],
  ['empty objects', '[', () => '{},', '{}]'],
  ['lists', '[', () => '[],', '[]]'],
  ['empty texts', '[', () => '"",', '""]'],
  ['numbers', '[', () => '1,', '1]'],
  ['maps of lists', '{', (at) => `"${at.toString(36)}":[[]],`, '"-":1}'],
];

export const jsonTextShapes: readonly Shape[] = JSON_TEXTS.map(([name, before, each, after]) => ({
  name: `text of JSON: ${name}`,
  make: (room: number) => fillText(room, before, each, after),
}));

function fillText(
  room: number,
  before: string,
  each: (at: number) => string,
  after: string,
): string {
  const parts: string[] = [];
  let left = room - written(before) - written(after) - 2;
  for (let at = 0; ; at++) {
    const next = each(at);
    left -= written(next);
    if (left < 0) return before + parts.join('') + after;
    parts.push(next);
  }
}

function fill(room: number, most: number, item: (at: number) => unknown): unknown[] {
  const items: unknown[] = [];
  let left = room - 2;
  for (let at = 0; at < most; at++) {
    const next = item(at);
    left -= Buffer.byteLength(JSON.stringify(next)) + 1;
    if (left < 0) break;
    items.push(next);
  }
  return items;
}

function fillMap(room: number, most: number, entry: (at: number) => [string, unknown]): object {
  const entries: [string, unknown][] = [];
  let left = room - 2;
  for (let at = 0; at < most; at++) {
    const [key, value] = entry(at);
    left -= Buffer.byteLength(JSON.stringify({ [key]: value }));
    if (left < 0) break;
    entries.push([key, value]);
  }
  return Object.fromEntries(entries);
}

function nest(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 'a';
  for (let at = 0; at < depth; at++) value = wrap(value);
  return value;
}

/** Most items that a list may have, and most members that a body may have. */
const ITEMS = 10_000;
const MEMBERS = 9_900;

export const listShapes: readonly Shape[] = [
  { name: 'the same item', make: (room) => fill(room, ITEMS, () => 'a') },
  { name: 'items that differ', make: (room) => fill(room, ITEMS, (at) => `item-${at}`) },
  { name: 'names', make: (room) => fill(room, ITEMS, (at) => `a${at}.example.com`) },
  { name: 'addresses', make: (room) => fill(room, ITEMS, (at) => `10.${at >> 8}.${at & 255}.1/32`) },
  { name: 'v6 addresses', make: (room) => fill(room, ITEMS, (at) => `fe80::${at.toString(16)}/128`) },
  { name: 'globs', make: (room) => fill(room, ITEMS, (at) => `*a*${at}*b*`) },
  { name: 'pairs', make: (room) => fill(room, ITEMS, (at) => `k${at}=v`) },
  { name: 'ids', make: (room) => fill(room, ITEMS, (at) => `ttcp_${String(at).padStart(10, '0')}`) },
  { name: 'ids of users', make: (room) => fill(room, ITEMS, (at) => `u_${String(at).padStart(10, '0')}`) },
  { name: 'grants', make: (room) => fill(room, ITEMS, (at) => `ids=*;type=target;actions=read;output_fields=a${at}`) },
  { name: 'other SANs', make: (room) => fill(room, ITEMS, (at) => `1.3.6.1.4.1.${at};UTF8:a`) },
  { name: 'OIDs', make: (room) => fill(room, ITEMS, (at) => `1.3.6.1.4.1.${at}`) },
  { name: 'links', make: (room) => fill(room, ITEMS, (at) => `http://a${at}.example.com/{{issuer_id}}`) },
  { name: 'long items', make: (room) => fill(room, ITEMS, () => 'a'.repeat(8_192)) },
  { name: 'long globs', make: (room) => fill(room, ITEMS, () => '*a'.repeat(4_096)) },
  { name: 'long labels', make: (room) => fill(room, ITEMS, () => 'a.'.repeat(4_000)) },
  { name: 'long digits', make: (room) => fill(room, ITEMS, () => `1.${'9'.repeat(8_000)}`) },
  { name: 'names of marks', make: (room) => fill(room, ITEMS, () => fallingMarks(1_000)) },
  { name: 'names of kanji', make: (room) => fill(room, ITEMS, () => kanji(1_000)) },
  { name: 'numbers', make: (room) => fill(room, 90_000, (at) => at) },
  { name: 'empty texts', make: (room) => fill(room, 90_000, () => '') },
  { name: 'nothing', make: (room) => fill(room, 90_000, () => null) },
  { name: 'objects', make: (room) => fill(room, MEMBERS, (at) => ({ [`k${at}`]: 'a' })) },
  { name: 'lists in lists', make: () => nest(28, (inner) => [inner]) },
  { name: 'wide lists in lists', make: (room) => fill(room, 3_000, () => nest(20, (inner) => [inner])) },
]; // biome-ignore format: one table

export const mapShapes: readonly Shape[] = [
  { name: 'members that differ', make: (room) => fillMap(room, MEMBERS, (at) => [`k${at}`, 'a']) },
  { name: 'numbered members', make: (room) => fillMap(room, MEMBERS, (at) => [String(at * 977), 'a']) },
  { name: 'long names', make: (room) => fillMap(room, MEMBERS, (at) => ['k'.repeat(4_000) + at, 'a']) },
  { name: 'long values', make: (room) => fillMap(room, MEMBERS, (at) => [`k${at}`, 'a'.repeat(4_000)]) },
  { name: 'one long name', make: (room) => ({ ['k'.repeat(Math.max(1, room - 16))]: { a: { b: 1 } } }) },
  { name: 'a long name over many', make: (room) => ({ ['k'.repeat(Math.max(1, room >> 1))]: fillMap(room >> 1, MEMBERS, (at) => [`k${at}`, 1]) }) },
  { name: 'templates', make: (room) => fillMap(room, MEMBERS, (at) => [`k${at}`, '{{identity.entity.id}}']) },
  { name: 'lists', make: (room) => fillMap(room, MEMBERS, (at) => [`k${at}`, ['a', 'b']]) },
  { name: 'maps in maps', make: () => nest(28, (inner) => ({ a: inner })) },
  { name: 'wide maps in maps', make: (room) => fillMap(room, 400, (at) => [`k${at}`, nest(20, (inner) => ({ a: inner }))]) },
  { name: 'mixed depth', make: (room) => fillMap(room, 400, (at) => [`k${at}`, nest(10, (inner) => ({ a: [inner] }))]) },
]; // biome-ignore format: one table
