import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heapUsed } from '../../../test/support/heap.ts';
import type { IdentityFacts } from '../../core/identity-template.ts';
import { ROOMS } from '../../core/rooms.ts';
import { compileRules, type ListedRules, weighLists } from './compiled-rules.ts';

const rulesOf = (allowed_domains: string[]): ListedRules => ({
  allowed_domains,
  allowed_domains_template: true,
  allowed_uri_sans: [],
  allowed_uri_sans_template: false,
  allow_globs_in_identity_templates: false,
  allowed_other_sans: [],
  allowed_serial_numbers: [],
  allowed_user_ids: [],
});

const person = (at: number): IdentityFacts => ({
  entity: { id: `e${at}`, name: `n${at}`, metadata: {}, aliases: {} },
  groups: [],
});

test('templates are filled in once for somebody while there is room, and for any number of people', () => {
  const few = rulesOf(['{{identity.entity.name}}.test']);
  const ann = person(0);
  const first = compileRules(few, ann);
  assert.equal(compileRules(few, ann), first);
  assert.notEqual(compileRules(few, person(0)), first, 'somebody else');
  assert.ok(first.domains[1]?.bare.has('n0.test'));

  const rules = rulesOf(
    Array.from({ length: 10_000 }, (_, at) => `{{identity.entity.name}}-${at.toString(36)}.test`),
  );
  const people = Array.from({ length: 40 }, (_, at) => person(at));
  compileRules(rules, undefined);
  const before = heapUsed();
  for (const one of people) {
    const { domains } = compileRules(rules, one);
    assert.ok(domains[1]?.bare.has(`${one.entity.name}-0.test`), one.entity.name);
  }
  const grown = heapUsed() - before;
  assert.ok(grown < ROOMS.worked_out + (4 << 20), `${grown >> 20} MiB`);
  assert.ok(compileRules(rules, people[0]).domains[1]?.bare.has('n0-0.test'), 'once more');
  assert.equal(people.length, 40);
});

const LISTS: [field: keyof ListedRules, entry: (text: string) => string][] = [
  ['allowed_domains', (text) => text],
  ['allowed_domains', (text) => `A${text}`],
  ['allowed_domains', (text) => `*${text}`],
  ['allowed_domains', (text) => `*${text}*`],
  ['allowed_uri_sans', (text) => `*${text}*`],
  ['allowed_serial_numbers', (text) => `*${text}*`],
  ['allowed_user_ids', (text) => `*${text}*`],
  ['allowed_other_sans', (text) => `1.2.3;UTF8:*${text}*`],
];

for (const [field, entry] of LISTS) {
  test(`lists of a role weigh what they take: ${field} such as ${entry('a')}`, () => {
    const texts = Array.from({ length: 16 }, (_, of) => {
      const list = Array.from({ length: 2_500 }, (_, at) => entry((of * 2_500 + at).toString(36)));
      return JSON.stringify({ ...rulesOf([]), allowed_domains_template: false, [field]: list });
    });
    const before = heapUsed();
    const all = texts.map((text): ListedRules => JSON.parse(text));
    for (const rules of all) compileRules(rules, undefined);
    const grown = heapUsed() - before;
    const weighed = all.reduce((sum, rules) => sum + weighLists(rules), 0);
    const read = texts.reduce((sum, { length }) => sum + 4 * length, 0);
    assert.ok(grown < 1.1 * (weighed + read), `${grown} bytes weigh ${weighed} and ${read}`);
  });
}
