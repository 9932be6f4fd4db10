import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heapUsed } from '../../test/support/heap.ts';
import { compiledAcl } from '../../test/support/judged.ts';
import { expandPolicy, type Policy } from './policy.ts';
import { parsePolicy } from './policy-reader.ts';
import { weighStanzas } from './policy-weight.ts';

const long = (of: number, length = 200_000): string => `${of}${'y'.repeat(length)}`;
const words = (of: number, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${of}-${at}-${'z'.repeat(40)}`);
const stanza = (of: number, says: string): string =>
  `path "team/${of}" { capabilities = ["read"] ${says} }`;
const quoted = (texts: readonly string[]): string => texts.map((text) => `"${text}"`).join();
const slots = (text: string): string => `path "${text}" { capabilities = ["deny"] }`;

const paths = (path: (at: number) => string): string =>
  Array.from({ length: 1_000 }, (_, at) => `path "${path(at)}" { capabilities = ["read"] }`).join(
    '\n',
  );

/** Policies of which most is not their paths, and such of many. */
const SHAPES: [what: string, text: (of: number) => string][] = [
  ['many paths', (of) => paths((at) => `team/${of}/app/${at}`)],
  ['many beginnings', (of) => paths((at) => `team/${of}/app/${at}/*`)],
  ['many short beginnings', (of) => paths((at) => `t${of}x${at}*`)],
  ['many segments between', (of) => paths((at) => `a/+/c/+/e/+/g/+/i/${of}/${at}`)],
  ['many of one beginning', (of) => paths((at) => `team/+/app${of}x${at}/*`)],
  ['a long value', (of) => stanza(of, `denied_parameters = { "a" = ["${long(of)}"] }`)],
  ['a long value in lists', (of) => stanza(of, `allowed_parameters = {"a" = [[["${long(of)}"]]]}`)],
  ['a long name', (of) => stanza(of, `allowed_parameters = { "${long(of)}" = [] }`)],
  ['a long name that is required', (of) => stanza(of, `required_parameters = ["${long(of)}"]`)],
  ['many values', (of) => stanza(of, `denied_parameters = {"a" = [${quoted(words(of, 900))}]}`)],
  ['many slots', (of) => slots(`a/${of}${'{{identity.entity.id}}'.repeat(9_000)}/*`)],
  ['many long slots', (of) => slots(`a/${of}${'{{identity.entity.metadata.abc}}x'.repeat(7_000)}`)],
];

/** So many times what it weighs, and so much besides, something may take. */
const TIMES = 1.2;
const BESIDES = 20_000;
const COUNT = 10;

for (const [what, text] of SHAPES) {
  test(`policies and what is compiled of them weigh what they take: ${what}`, () => {
    const texts = Array.from({ length: COUNT }, (_, of) => text(of));
    const policies: Policy[] = [];
    // What runs for the first time is compiled, which stays in the heap as well.
    for (const one of texts) compiledAcl([expandPolicy(parsePolicy(one), undefined)], 0);
    const start = heapUsed();
    for (const one of texts) policies.push(expandPolicy(parsePolicy(one), undefined));
    const read = heapUsed() - start;
    const weighed = policies.reduce((sum, { rules }) => sum + weighStanzas(rules), 0);
    assert.ok(read < TIMES * weighed + COUNT * BESIDES, `${read} bytes weigh ${weighed}`);
    const acls = policies.map((policy) => compiledAcl([policy], 0));
    policies.length = 0;
    const compiled = heapUsed() - start;
    const bytes = acls.reduce((sum, acl) => sum + acl.bytes, 0);
    assert.ok(compiled < TIMES * bytes + COUNT * BESIDES, `${compiled} bytes weigh ${bytes}`);
    assert.equal(acls.length + texts.length, 2 * COUNT);
  });
}
