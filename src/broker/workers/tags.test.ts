import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../core/failure.ts';
import { FieldErrors } from '../resource/field-errors.ts';
import type { LinkChange } from '../resource/links/plan.ts';
import { checkTags, faultOfAll, MAX_TAGS_LENGTH, planTags, type Tags } from './tags.ts';

const changes: [change: LinkChange, present: Tags, wanted: Tags, after: Tags, why: string][] = [
  ['add', {}, { a: ['x'] }, { a: ['x'] }, 'the first'],
  ['add', { a: ['x'] }, { a: ['y', 'x'] }, { a: ['x', 'y'] }, 'what is there stays once'],
  ['add', { a: ['x'] }, { b: ['x'] }, { a: ['x'], b: ['x'] }, 'another key'],
  ['set', { a: ['x'] }, { b: ['y'] }, { b: ['y'] }, 'what was before goes'],
  ['set', { a: ['x'] }, {}, {}, 'to none'],
  ['remove', { a: ['x', 'y'] }, { a: ['x'] }, { a: ['y'] }, 'one of two values'],
  ['remove', { a: ['x'] }, { a: ['x'] }, {}, 'with the last value the key'],
  ['remove', { a: ['x'] }, { a: ['z'] }, { a: ['x'] }, 'what is not there changes nothing'],
];
for (const [change, present, wanted, after, why] of changes) {
  test(`${change} tags: ${why}`, () => assert.deepEqual(planTags(change, present, wanted), after));
}

const long = 'x'.repeat(513);
const values = (count: number): string[] => Array.from({ length: count }, (_, at) => `v${at}`);
const TOO_MANY = 'There can be at most 256 values of tags.';
const faults: [change: LinkChange, tags: unknown, fault: string | undefined, why: string][] = [
  ['add', { a: ['x'] }, undefined, 'a key and a value'],
  ['add', { a: ['x'.repeat(512)] }, undefined, 'as long as can be'],
  ['add', {}, 'Must be non-empty.', 'none'],
  ['remove', undefined, 'Must be non-empty.', 'none given'],
  ['set', {}, undefined, 'none to set'],
  ['add', { '': ['x'] }, 'Tag keys must be non-empty.', 'an empty key'],
  ['add', { [long]: ['x'] }, 'Tag keys must be within 512 characters.', 'a long key'],
  ['add', { a: [long] }, 'Tag values must be within 512 characters.', 'a long value'],
  ['add', { a: [] }, 'Tag values must be non-empty.', 'no values'],
  ['add', { a: [''] }, 'Tag values must be non-empty.', 'an empty value'],
  ['add', { a: [1] }, 'Tag values must be strings.', 'a number'],
  ['add', { a: 'x' }, 'Tag values must be non-empty.', 'no list'],
  [
    'add',
    { 'boundary.cloud.hashicorp.com:managed': ['true'] },
    'Tag keys cannot be the managed worker tag.',
    'the tag of a managed service',
  ],
  ['add', { a: values(256) }, undefined, 'as many as can be'],
  ['add', { a: values(257) }, TOO_MANY, 'one more'],
  ['set', { a: values(200), b: values(57) }, TOO_MANY, 'with two keys'],
  ['remove', Object.fromEntries(values(257).map((key) => [key, []])), TOO_MANY, 'keys alone'],
  ['add', { a: values(200_000) }, TOO_MANY, 'as many as a body can hold'],
  ['add', ['a'], 'This must be an object of lists of strings.', 'a list'],
];
for (const [change, api_tags, fault, why] of faults) {
  test(`tags to ${change}: ${why}`, () => {
    const errors = new FieldErrors();
    checkTags({ api_tags }, errors, { change });
    try {
      errors.refuse('refused');
      assert.equal(undefined, fault);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      assert.equal(error.detail.fields?.api_tags, fault);
    }
  });
}

/** 32 values of one key that come to some characters as JSON. */
function tagsOfLength(length: number): Tags {
  const short = values(32).map((value) => value.padEnd(400, 'x'));
  const missing = length - JSON.stringify({ a: short }).length;
  return { a: short.map((value) => value.padEnd(400 + Math.floor(missing / 32), 'x')) };
}

const TOO_LONG = 'The tags of a worker can have at most 16384 characters as JSON.';
const padded = (tags: Tags, more: number): Tags => ({
  ...tags,
  b: ['y'.repeat(MAX_TAGS_LENGTH - JSON.stringify(tags).length - ',"b":[""]'.length + more)],
});
const base = tagsOfLength(MAX_TAGS_LENGTH - 300);
const wholes: [tags: Tags, fault: string | undefined, why: string][] = [
  [{}, undefined, 'none'],
  [padded(base, 0), undefined, 'as long as can be'],
  [padded(base, 1), TOO_LONG, 'one character more'],
  [{ a: values(256) }, undefined, 'as many as can be'],
  [{ a: values(257) }, TOO_MANY, 'one more'],
];
for (const [tags, fault, why] of wholes) {
  test(`tags of a worker: ${why}`, () => assert.equal(faultOfAll(tags), fault));
}
