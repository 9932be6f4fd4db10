import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { NOT_RECORDED, recordable, recordedAs } from './recorded-shape.ts';

const S = { password: 'hunter2' };
const tags = recordedAs(z.unknown().optional(), z.record(z.string(), z.array(z.string())));
const text = z.string().optional();
const withDefault = z.string().prefault('');
const arguments_ = z.strictObject({ host_id: z.string().nullish() }).optional();

const cases: [what: string, schemas: z.ZodType[], value: unknown, recorded: unknown][] = [
  ['a text', [text], 'a', 'a'],
  ['a number where a text is declared', [text], 5, 5],
  ['an object where a text is declared', [text], S, NOT_RECORDED],
  ['a list where a text is declared', [text], ['hunter2'], NOT_RECORDED],
  ['a list where a text with a default is declared', [withDefault], ['hunter2'], NOT_RECORDED],
  ['a text where one with a default is declared', [withDefault], 'a', 'a'],
  [
    'an object where a number is declared',
    [z.string().transform(Number).pipe(z.number()).optional()],
    S,
    NOT_RECORDED,
  ],
  ['a list of texts', [z.array(z.string())], ['a', 'b'], ['a', 'b']],
  ['an object in a list of texts', [z.array(z.string())], ['a', S], NOT_RECORDED],
  ['texts by texts', [z.record(z.string(), z.string())], { a: 'b' }, { a: 'b' }],
  ['an object among texts by texts', [z.record(z.string(), z.string())], { a: S }, NOT_RECORDED],
  ['an object of its fields', [arguments_], { host_id: 'h' }, { host_id: 'h' }],
  ['an object with another field', [arguments_], { host_id: 'h', ...S }, NOT_RECORDED],
  ['an object with an object in a field', [arguments_], { host_id: S }, NOT_RECORDED],
  ['texts where anything may be', [z.unknown()], ['a', 1], ['a', 1]],
  ['a list as long as any may be', [z.unknown()], Array(10_000).fill('a'), Array(10_000).fill('a')],
  ['a longer list', [z.unknown()], Array(10_001).fill('a'), NOT_RECORDED],
  ['an object where anything may be', [z.unknown()], S, NOT_RECORDED],
  ['an object in a list where anything may be', [z.unknown()], ['a', S], NOT_RECORDED],
  ['lists in a list where anything may be', [z.unknown()], [['a']], NOT_RECORDED],
  ['an object where any object may be', [z.record(z.string(), z.unknown())], S, NOT_RECORDED],
  ['what a record has of such a field', [tags], { a: ['b'] }, { a: ['b'] }],
  ['and what it has not', [tags], { a: [S] }, NOT_RECORDED],
  ['what one of several kinds has', [text, z.array(z.string())], ['a'], ['a']],
  ['an object that none of several kinds has', [text, z.array(z.string())], S, NOT_RECORDED],
  ['an object in a field that there is not', [], S, NOT_RECORDED],
];

for (const [what, schemas, value, recorded] of cases) {
  test(`${recorded === NOT_RECORDED ? 'not in' : 'in'} a record: ${what}`, () => {
    assert.deepEqual(recordable(schemas, value), recorded);
  });
}
