import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { normalize } from 'node:path';
import { test } from 'node:test';
import { findSlowness, listExpressions, readExpressions } from './support/regular-expressions.ts';

const files = ['src/**/*.ts', 'bench/*.ts']
  .flatMap((pattern) => globSync(pattern))
  .map(normalize)
  .filter((file) => !file.endsWith('.test.ts'))
  .sort();
const read = files.map((file) => ({ file, ...readExpressions(file) }));

test('no regular expression of the source takes more time than in proportion to its text', () => {
  const slow = read.flatMap(({ literals }) =>
    literals.flatMap((found) => {
      const because = findSlowness(found);
      return because === undefined
        ? []
        : [`${found.place} /${found.source}/${found.flags} ${because}`];
    }),
  );
  assert.deepEqual(slow, []);
});

/** Files that put an expression together, and of what. */
const MADE: Readonly<Record<string, string>> = {
  'bench/crl.ts': 'names of metrics',
  'bench/load.ts': 'what a load says it collects',
  'src/store/written-tables.ts': 'names of tables, on statements of our own',
  'src/x509/name-constraints.ts': 'constants of the file, on texts of at most 320 letters',
};

test('expressions are put together of what is known here alone', () => {
  const makers = read.filter(({ made }) => made.length > 0).map(({ file }) => file);
  assert.deepEqual(makers, Object.keys(MADE));
});

// What the search must see, or it proves nothing; beside each what is as near to it as can be.
const known: [source: string, flags: string, slow: boolean, why: string][] = [
  ['^(\\d+(s|m|h|d)?)+$', '', true, 'a repetition that can be empty between others'],
  ['^(\\d+(s|m|h|d))+$', '', false, 'one that cannot'],
  ['(a|a)*b', '', true, 'two ways to read a letter'],
  ['^(a|b)*c', '', false, 'one way'],
  ['^(a?){25}b$', '', true, 'many letters that may be left out'],
  ['^a{0,25}b$', '', false, 'in one way alone'],
  ['^(a+)+$', '', true, 'a repetition of a repetition'],
  ['^a+$', '', false, 'a repetition'],
  ['\\s+$', '', true, 'blanks before the end, from every blank'],
  ['^\\s+', '', false, 'blanks at the beginning'],
  ['/+$', 'g', true, 'the same in a replacement'],
  ['^/+|/+$', 'g', true, 'beside one at the beginning'],
  ['/$', 'g', false, 'one slash'],
  ['a*a*b', '', true, 'two repetitions side by side of the same'],
  ['^a*b*c', '', false, 'of different letters'],
  ['^[a-z]+[a-z0-9]*!$', '', true, 'overlapping side by side'],
  ['^[a-z][a-z0-9]*!$', '', false, 'not overlapping'],
  ['^(.+?)\\.metadata\\.(.+)$', '', true, 'a part that is met again and again'],
  ['^([^.]+)\\.metadata\\.(.+)$', '', false, 'one that is met once'],
  [
    '-----BEGIN ([A-Z]+)-----\\n([\\s\\S]*?)-----END \\1-----',
    '',
    true,
    'beginnings without an end',
  ],
  ['^-----BEGIN ([A-Z]+)-----\\n([\\s\\S]*?)-----END \\1-----', '', false, 'one beginning'],
  ['"(?:[^"\\\\]|\\\\.)*"', 'y', false, 'a quoted text, at its place'],
  ['^(?:[a-z]{1,63}\\.)*[a-z]{1,63}$', 'i', false, 'labels with dots between them'],
];

for (const [source, flags, slow, why] of known) {
  test(`/${source}/${flags} is ${slow ? 'slow' : 'not slow'}: ${why}`, () => {
    assert.equal(findSlowness({ source, flags }) !== undefined, slow);
  });
}

/** A place in a template literal. */
const hole = (inner: string): string => `\${${inner}}`;

const written: [text: string, literals: string[], made: number, why: string][] = [
  ['const a: RegExp = /x+$/g;', ['x+$'], 0, 'a literal'],
  ['const a = b / c / d; // /x+/', [], 0, 'divisions and comments'],
  [
    `const a = '/x+/' + \`/y${hole("b.replace(/z+/, '')")}/\`;`,
    ['z+'],
    0,
    'texts, and a literal within one',
  ],
  [
    'text.split(/a/).map((x) => x.replaceAll(/b/g, (y) => /c/.test(y) ? 1 : 2));',
    ['a', 'b', 'c'],
    0,
    'arguments',
  ],
  [
    `const a = <T,>(x: T): x is T & string => /q/.test(\`${hole('x as string')}\`);`,
    ['q'],
    0,
    'between types',
  ],
  ['const a = new RegExp(b);', [], 1, 'one that is made'],
  ["const a = RegExp('x');", [], 1, 'without new'],
  [
    `text.match('x+$'); text.matchAll(\`a${hole('b')}\`); text.search(other);`,
    [],
    2,
    'by methods of texts',
  ],
];

for (const [text, literals, made, why] of written) {
  test(`expressions are found in a source: ${why}`, () => {
    const found = listExpressions('x.ts', text);
    assert.deepEqual(found.literals.map(({ source }) => source).sort(), literals);
    assert.equal(found.made.length, made);
  });
}
