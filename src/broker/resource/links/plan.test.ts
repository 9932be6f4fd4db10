import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LinkChange, type PlannedLinks, planLinks } from './plan.ts';

const NOTHING: PlannedLinks = { added: [], removed: [], already: [], absent: [] };

const rows: [
  change: LinkChange,
  present: string[],
  named: string[],
  plan: Partial<PlannedLinks>,
  why: string,
][] = [
  ['add', [], ['a', 'a'], { added: ['a'] }, 'named twice, linked once'],
  ['add', ['a'], ['b'], { added: ['b'] }, 'beside what is there'],
  ['add', ['a'], ['a', 'b'], { added: ['b'], already: ['a'] }, 'there already'],
  ['add', ['a'], [], {}, 'nothing'],
  ['set', ['a'], ['b'], { added: ['b'], removed: ['a'] }, 'only what is named'],
  ['set', ['a', 'b'], ['b', 'b'], { removed: ['a'] }, 'what stays is not touched'],
  ['set', ['a'], [], { removed: ['a'] }, 'nothing clears'],
  ['set', ['a'], ['a'], {}, 'what is there already is no fault'],
  ['remove', ['a', 'b'], ['a', 'a'], { removed: ['a'] }, 'named twice'],
  ['remove', ['a'], ['a', 'b'], { removed: ['a'], absent: ['b'] }, 'what is not there'],
  ['remove', [], [], {}, 'nothing'],
];

for (const [change, present, named, plan, why] of rows) {
  test(`${change} [${named}] to [${present}]: ${why}`, () => {
    assert.deepEqual(planLinks(change, present, named), { ...NOTHING, ...plan });
  });
}
