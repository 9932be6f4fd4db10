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

function rulesOf(page: string): Rule[] {
  let section = '';
  const rules: Rule[] = [];
  for (const line of readFileSync(page, 'utf8').split('\n')) {
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

const rules = Object.values(PAGES).flatMap(rulesOf);
const ids = new Set(rules.map(({ id }) => id));

test('every rule has an id of its own, of its page, and they rise within a section', () => {
  assert.equal(ids.size, rules.length, 'no id twice');
  for (const [letter, page] of Object.entries(PAGES)) {
    let last = { section: '', number: 0 };
    for (const { section, id } of rules.filter((rule) => rule.page === page)) {
      assert.match(id, new RegExp(`^${letter}-[1-9]\\d*$`), page);
      assert.doesNotMatch(id, CURVES);
      const number = Number(id.slice(2));
      if (section === last.section) assert.ok(number > last.number, `${id} in ${page}`);
      last = { section, number };
    }
  }
});

test('every rule is held by tests that are there, by words that they have', () => {
  const texts = new Map<string, string>();
  for (const rule of rules) {
    const held = heldBy(rule);
    assert.equal(rule.held.split('](').length - 1, held.length, `${rule.id}: ${rule.held}`);
    assert.ok(held.length > 0, rule.id);
    for (const { file, text } of held) {
      assert.match(file, /^(?:src|test)\/.*\.test\.ts$/, rule.id);
      assert.ok(existsSync(file), `${rule.id}: ${file}`);
      if (!texts.has(file)) texts.set(file, readFileSync(file, 'utf8'));
      assert.ok(texts.get(file)?.includes(text), `${rule.id}: "${text}" is not in ${file}`);
    }
  }
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
