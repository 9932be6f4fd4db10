/** The rules of `docs/compatibility/` are held by tests that are there, and what cites one finds it. */

import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

/** The pages of rules, by what their ids begin with. */
const PAGES: Readonly<Record<string, string>> = {
  P: 'docs/compatibility/pki.md',
  S: 'docs/compatibility/system.md',
  B: 'docs/compatibility/broker.md',
};

interface Rule {
  page: string;
  /** Under which heading. */
  section: string;
  id: string;
  /** The last column as it is written. */
  held: string;
}

function rulesIn(page: string, text: string): Rule[] {
  let section = '';
  const rules: Rule[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('#')) section = line;
    const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
    const [, id = '', , held = ''] = cells;
    if (!line.startsWith('| ') || /^(?:id|---)$/.test(id)) continue;
    assert.equal(cells.length, 5, `${page}: a row is an id, a rule and what holds it: ${line}`);
    rules.push({ page, section, id, held });
  }
  return rules;
}

/** "[http/x.test.ts](../../test/http/x.test.ts) `a part of its text`", one after the other. */
function heldBy({ held }: Rule): { file: string; text: string }[] {
  const named = [...held.matchAll(/\[([^\]]+)\]\(\.\.\/\.\.\/([^)]+)\) `([^`]+)`/g)];
  return named.map(([, , file = '', text = '']) => ({ file, text }));
}

/** Names of curves look like ids, and none of them is one. */
const CURVES = /^P-(?:192|224|256|384|512|521)$/;

/** What is wrong with the ids of one page, or undefined. */
function faultOfIds(letter: string, page: readonly Rule[]): string | undefined {
  const form = new RegExp(`^${letter}-[1-9]\\d*$`);
  const met = new Set<string>();
  let last = { section: '', number: 0 };
  for (const { section, id } of page) {
    if (!form.test(id) || CURVES.test(id)) return `${id} is no id`;
    if (met.has(id)) return `${id} is there twice`;
    met.add(id);
    const number = Number(id.slice(2));
    if (section === last.section && number < last.number) return `${id} is out of order`;
    last = { section, number };
  }
  return undefined;
}

const texts = new Map<string, string>();
function textOf(file: string): string {
  const known = texts.get(file) ?? readFileSync(file, 'utf8');
  texts.set(file, known);
  return known;
}

/** What is wrong with what is said to hold a rule, or undefined. */
function faultOfHolders(rule: Rule): string | undefined {
  const holders = heldBy(rule);
  if (holders.length === 0 || rule.held.split('](').length - 1 !== holders.length) {
    return `no list of tests: ${rule.held}`;
  }
  for (const { file, text } of holders) {
    if (!/^(?:src|test)\/.*\.test\.ts$/.test(file) || !existsSync(file)) return `no test: ${file}`;
    if (!textOf(file).includes(text)) return `"${text}" is not in ${file}`;
  }
  return undefined;
}

const pages = Object.entries(PAGES).map(
  ([letter, page]) => [letter, rulesIn(page, readFileSync(page, 'utf8'))] as const,
);
const rules = pages.flatMap(([, page]) => page);
const ids = new Set(rules.map(({ id }) => id));

test('every rule has an id of its own, of its page, and they rise within a section', () => {
  for (const [letter, page] of pages) {
    assert.ok(page.length > 50, letter);
    assert.equal(faultOfIds(letter, page), undefined);
  }
});

test('every rule is held by tests that are there, by words that they have', () => {
  for (const rule of rules) assert.equal(faultOfHolders(rule), undefined, rule.id);
});

const HELD =
  '[test/compatibility.test.ts](../../test/compatibility.test.ts) `every rule is held by tests`';

test('ids that are twice, out of order or of another page are found', () => {
  const faultOf = (...rows: string[]) =>
    faultOfIds('P', rulesIn('made', rows.map((row) => `${row} | a rule | ${HELD} |`).join('\n')));
  assert.equal(faultOf('| P-1', '| P-3', '# next\n| P-2'), undefined);
  assert.match(faultOf('| P-1', '# next\n| P-1') ?? '', /twice/);
  assert.match(faultOf('| P-3', '| P-2') ?? '', /out of order/);
  assert.match(faultOf('| B-1') ?? '', /is no id/);
  for (const number of ['0', '01', '1a', '256']) {
    assert.match(faultOf(`| P-${number}`) ?? '', /is no id/, number);
  }
});

test('tests that are not there, or have not those words, are found', () => {
  const faultOf = (held: string) => faultOfHolders({ page: '', section: '', id: 'P-1', held });
  assert.equal(faultOf(HELD), undefined);
  assert.equal(faultOf(`${HELD}, ${HELD}`), undefined);
  assert.match(faultOf('') ?? '', /no list of tests/);
  assert.match(faultOf(`${HELD}, [x](../../x.ts)`) ?? '', /no list of tests/);
  assert.match(faultOf(HELD.replaceAll('compatibility', 'none')) ?? '', /no test/);
  assert.match(faultOf(HELD.replaceAll('.test.ts', '.ts')) ?? '', /no test/);
  // In two parts, since this file is the one that is looked into.
  const words = ['every rule is held', 'by nothing'].join(' ');
  assert.match(faultOf(HELD.replace(/`.*`/, `\`${words}\``)) ?? '', /is not in/);
});

test('every rule that code, tests or documents cite is there', () => {
  const cited = new RegExp(`\\b[${Object.keys(PAGES).join('')}]-\\d+\\b`, 'g');
  const missing = globSync(['{src,test,bench}/**/*.ts', 'docs/**/*.md', '*.md']).flatMap((file) =>
    (readFileSync(file, 'utf8').match(cited) ?? [])
      .filter((id) => !CURVES.test(id) && !ids.has(id))
      .map((id) => `${file}: ${id}`),
  );
  assert.deepEqual(missing, []);
});
